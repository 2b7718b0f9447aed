"""What the gateway keeps: stored responses, and runs in the background with their event log."""
