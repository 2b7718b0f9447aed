"""Python functions and MCP servers as tools, and the loop that runs them."""
