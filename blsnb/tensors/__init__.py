"""Arrays and their types; knows no model."""
