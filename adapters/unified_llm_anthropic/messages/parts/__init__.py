"""The parts of a message, each read and written side by side."""
