"""``%triton watch``: the requests of real servers in a notebook."""
