"""HTTP transports for the official SDKs, in this process: requests of one protocol, responses of another."""
