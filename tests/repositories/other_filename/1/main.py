"""A model whose file has another name."""

import os

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        tensor = pb_utils.Tensor("OUT", np.array([os.path.basename(__file__)], dtype=object))
        return [pb_utils.InferenceResponse([tensor])]
