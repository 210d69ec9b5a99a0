"""Runs and traces as files."""
