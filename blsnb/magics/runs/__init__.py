"""Display of runs in the cells that started them."""
