"""How events stand in bytes."""
