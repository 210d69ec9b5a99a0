"""Takes twenty milliseconds in which others can run."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils

SECONDS = 0.02


def work():
    """Do what takes the time."""
    time.sleep(SECONDS)


class TritonPythonModel:
    """Waits as a model does whose work is done elsewhere."""

    def execute(self, requests):
        """Wait for each request."""
        return [self._answer() for _ in requests]

    def _answer(self):
        work()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.zeros(1, np.uint8))])
