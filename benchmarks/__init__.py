"""How fast blsnb is, measured beside a real Triton server in one run."""
