"""What everything else stands on: errors, JSON, ids, names. Imports nothing above itself."""
