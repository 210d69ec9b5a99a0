"""Trace files of a Triton server."""
