"""Asks for a name of the backend at import time, when it is not there yet."""

from c_python_backend_utils import Metric  # noqa: F401 (this one is there)
from triton_python_backend_utils import Tensor  # noqa: F401


class TritonPythonModel:
    pass
