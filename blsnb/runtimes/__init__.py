"""Runtimes: tensors in host memory, on CUDA devices and on a simulated device."""
