"""Remote: models that run on another server, and are asked from here."""
