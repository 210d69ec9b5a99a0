"""Requests, the models that execute them, and all threads and event loops."""
