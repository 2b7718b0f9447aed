"""Who may call the gateway, and how much a key may use."""
