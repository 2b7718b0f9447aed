"""What belongs to one provider: opaque data, its envelope, references, the vault."""
