"""What happened; plain data."""
