"""The protocols of Google: `generate_content` and `interactions`."""
