"""The rules of a call, as generators without I/O: send, read, retry, fall back, fail."""
