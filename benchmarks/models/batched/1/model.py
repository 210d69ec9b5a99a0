"""Takes a millisecond for a batch of any size, as a GPU does."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils

SECONDS = 0.001


class TritonPythonModel:
    """Answers the first request of a batch with the time that it took, others with 0.

    A wait of a millisecond takes longer, and how much longer differs by machine.
    """

    def execute(self, requests):
        """Take the time of one."""
        start = time.perf_counter_ns()
        time.sleep(SECONDS)
        waited = time.perf_counter_ns() - start
        return [self._answer(waited * (not place)) for place in range(len(requests))]

    def _answer(self, waited):
        values = np.array([[waited]], np.int64)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", values)])
