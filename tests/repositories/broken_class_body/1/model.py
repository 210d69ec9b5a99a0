"""Uses an enum of the backend in the class body."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    code = pb_utils.TritonError.INTERNAL
