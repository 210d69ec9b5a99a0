"""Which models exist."""
