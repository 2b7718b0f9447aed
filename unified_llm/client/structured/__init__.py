"""Structured output: a type (or a JSON schema) in, a value of it out, over every protocol, whole and as it grows."""
