"""The core: what clients ask and are sent back, whatever protocol brings it."""
