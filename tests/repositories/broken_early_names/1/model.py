"""Uses a name of the backend at import time, when it is not there yet."""

import triton_python_backend_utils as pb_utils

LOGGER = pb_utils.Logger


class TritonPythonModel:
    pass
