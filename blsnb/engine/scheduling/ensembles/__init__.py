"""Requests of ensembles, step by step."""
