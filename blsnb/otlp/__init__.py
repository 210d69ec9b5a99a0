"""Runs as OpenTelemetry spans, as a Triton server sends them, and back."""
