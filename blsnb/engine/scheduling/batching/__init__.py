"""The dynamic batcher."""
