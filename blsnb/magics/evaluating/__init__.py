"""``%triton evaluate``, its progress in a notebook, and its result."""
