"""Takes twenty milliseconds, or another time, in which others can run."""

import json
import time

import numpy as np
import triton_python_backend_utils as pb_utils

SECONDS = 0.02


def work(seconds=SECONDS):
    """Do what takes the time."""
    time.sleep(seconds)


class TritonPythonModel:
    """Waits as a model does whose work is done elsewhere."""

    def initialize(self, args):
        """Read the time."""
        parameters = json.loads(args["model_config"])["parameters"]
        given = parameters.get("SECONDS", {}).get("string_value", SECONDS)
        self._seconds = float(given)

    def execute(self, requests):
        """Wait for each request."""
        return [self._answer() for _ in requests]

    def _answer(self):
        work(self._seconds)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.zeros(1, np.uint8))])
