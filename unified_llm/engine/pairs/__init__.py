"""The older engine, pairs of functions that consume nodes, until every kind of document is a shape."""
