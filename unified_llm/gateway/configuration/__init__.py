"""The configuration of the gateway: its file, the spelling of its values, and the file of another gateway."""
