"""What waits and connects: connection pools, event loops, streams of bytes. No rule of a call is here."""
