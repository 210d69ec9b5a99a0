"""A real Triton server as a process."""
