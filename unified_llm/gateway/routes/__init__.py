"""The routes beside plain creation: files, caches, conversations, compaction, background runs, WebSocket."""
