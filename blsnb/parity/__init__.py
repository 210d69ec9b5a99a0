"""Parity: the same request on a real Triton server, compared."""
