"""The notebook's front door."""
