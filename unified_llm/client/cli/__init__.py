"""`unified-llm chat` and `unified-llm run`."""
