"""``%triton bench`` and ``%triton plan``: models under load."""
