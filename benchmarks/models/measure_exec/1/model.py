"""Measures, from inside a model, how long ``exec()`` of the identity model takes."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Calls the model ``identity`` again and again and answers with the times."""

    def execute(self, requests):
        """Measure once for each request."""
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        size = self._number(request, "BYTES_EACH")
        times = [
            self._time(request, size) for _ in range(self._number(request, "CALLS"))
        ]
        nanoseconds = pb_utils.Tensor("NANOSECONDS", np.array(times, np.int64))
        return pb_utils.InferenceResponse([nanoseconds])

    def _number(self, request, name):
        return int(pb_utils.get_input_tensor_by_name(request, name).as_numpy()[0])

    def _time(self, request, size):
        # A tensor of its own for each call: one sent twice need not be copied twice.
        question = pb_utils.InferenceRequest(
            model_name="identity",
            requested_output_names=["Y"],
            inputs=[pb_utils.Tensor("X", np.zeros(size, np.uint8))],
            trace=request.trace(),
        )
        start = time.perf_counter_ns()
        response = question.exec()
        end = time.perf_counter_ns()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        return end - start
