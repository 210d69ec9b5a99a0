"""The notebook's debugger in cells that define models."""
