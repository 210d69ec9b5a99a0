"""Samples of running models, and the times of their lines."""
