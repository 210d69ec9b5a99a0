"""Tab completion: of magics, and of names in strings."""
