"""Anthropic's wire protocols for unified_llm: `messages`."""
