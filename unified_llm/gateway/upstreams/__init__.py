"""Which upstream answers a request, and which are skipped for a while because they failed."""
