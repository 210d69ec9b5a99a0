"""Tries a BLS call too early."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        ones = np.ones(4, dtype=np.float32)
        pb_utils.InferenceRequest(
            model_name="add",
            requested_output_names=["SUM"],
            inputs=[pb_utils.Tensor("A", ones), pb_utils.Tensor("B", ones)],
        ).exec()

    def execute(self, requests):
        return [pb_utils.InferenceResponse() for _ in requests]
