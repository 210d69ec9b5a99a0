"""The same request on a real Triton server, compared."""
