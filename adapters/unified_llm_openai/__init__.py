"""The protocols of OpenAI, and of everybody who speaks them: `chat` and `responses`."""
