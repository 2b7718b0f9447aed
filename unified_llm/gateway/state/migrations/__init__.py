"""The versions of the database, applied at start by `store.migrate`; each adds and never changes, so that nodes of the
previous version go on working while others are replaced."""
