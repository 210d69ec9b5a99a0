"""Names the inputs that it got; the second one need not be there."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            names = sorted(tensor.name() for tensor in request.inputs())
            got = pb_utils.Tensor("GOT", np.array(names, dtype=object))
            responses.append(pb_utils.InferenceResponse([got]))
        return responses
