"""Reports of the requests: the log, and the metrics."""
