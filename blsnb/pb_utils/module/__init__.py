"""The modules ``triton_python_backend_utils`` and ``c_python_backend_utils``."""
