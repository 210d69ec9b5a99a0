"""Sampling of running models."""
