"""Tries a BLS call too early, from a thread, and reports how it went."""

import threading

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.saw = []
        thread = threading.Thread(target=self.call)
        thread.start()
        thread.join()

    def call(self):
        ones = np.ones(4, dtype=np.float32)
        try:
            pb_utils.InferenceRequest(
                model_name="add",
                requested_output_names=["SUM"],
                inputs=[pb_utils.Tensor("A", ones), pb_utils.Tensor("B", ones)],
            ).exec()
        except Exception as error:
            self.saw.append(f"{type(error).__name__}: {error}")

    def execute(self, requests):
        saw = pb_utils.Tensor("SAW", np.array(self.saw, dtype=object))
        return [pb_utils.InferenceResponse([saw]) for _ in requests]
