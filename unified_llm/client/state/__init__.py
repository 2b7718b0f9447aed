"""What a client continues from: stored responses, and what a transport remembers."""
