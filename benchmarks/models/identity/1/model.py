"""Answers each request with what it holds."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """A model that costs nothing of its own."""

    def execute(self, requests):
        """Return every input as it came."""
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        values = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", values)])
