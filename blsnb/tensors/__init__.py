"""Arrays and their types, independent of any model."""
