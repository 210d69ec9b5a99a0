"""The module that a model imports as ``triton_python_backend_utils``."""
