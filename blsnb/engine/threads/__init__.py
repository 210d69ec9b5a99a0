"""Threads of the engine."""
