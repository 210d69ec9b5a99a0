"""Uses a name of the backend in an annotation that is evaluated early."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def name_of(self, tensor: pb_utils.Tensor) -> str:
        return tensor.name()
