"""What arrives: the head and the body of a request, uploads, versions, and what the head admits."""
