"""Schedulers: which requests are executed together, when and where."""
