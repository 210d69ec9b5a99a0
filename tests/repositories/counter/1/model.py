"""Counts its requests in a global variable."""

import numpy as np
import triton_python_backend_utils as pb_utils

count = 0


class TritonPythonModel:
    def execute(self, requests):
        global count
        responses = []
        for _ in requests:
            count += 1
            tensor = pb_utils.Tensor("COUNT", np.array([count], dtype=np.int64))
            responses.append(pb_utils.InferenceResponse([tensor]))
        return responses
