"""The conversation: messages, reasoning and signatures, in their order."""
