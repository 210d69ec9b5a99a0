"""Threads of the engine, and waits on them."""
