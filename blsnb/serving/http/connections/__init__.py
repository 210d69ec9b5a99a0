"""Connections over HTTP: their limit, and the heads of their requests."""
