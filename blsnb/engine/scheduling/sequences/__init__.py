"""The sequence batcher."""
