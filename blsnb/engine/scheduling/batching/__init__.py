"""The dynamic batcher: a queue gives the order, gathering the size, of each batch."""
