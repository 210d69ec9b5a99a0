"""Statistics and metrics."""
