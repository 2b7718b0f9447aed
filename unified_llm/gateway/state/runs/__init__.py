"""Runs in the background: their rows, the locks of their nodes, and the log of their events."""
