"""The protocols of OpenAI, and of every server that uses them: `chat` and `responses`."""
