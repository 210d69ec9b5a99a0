"""Text and JSON forms of a configuration."""
