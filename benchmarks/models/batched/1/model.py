"""Takes a millisecond for a batch of any size, as a GPU does."""

import time

import triton_python_backend_utils as pb_utils

SECONDS = 0.001


class TritonPythonModel:
    """Answers each request of a batch with what it holds."""

    def execute(self, requests):
        """Take the time of one."""
        time.sleep(SECONDS)
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        values = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", values)])
