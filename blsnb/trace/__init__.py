"""Recorded calls, and traces as plain values."""
