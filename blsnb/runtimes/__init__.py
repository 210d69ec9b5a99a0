"""Tensors in host memory, on CUDA devices and on a simulated device."""

NAMES = ("auto", "numpy", "cupy", "simulated")
"""Valid names of the runtime of a server."""
