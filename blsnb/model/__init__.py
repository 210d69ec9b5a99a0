"""A model as a value; nothing runs here."""
