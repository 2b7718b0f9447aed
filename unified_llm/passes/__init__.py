"""What happens to a canonical document between reading and writing, each change with its fate."""
