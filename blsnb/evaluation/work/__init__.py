"""Places where rows are executed."""
