"""Measures, from inside a model, a whole BLS call: from the request to the values."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Calls a model again and again and returns the durations."""

    def execute(self, requests):
        """Measure once for each request."""
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        model = self._first(request, "MODEL").decode()
        size = int(self._first(request, "BYTES_EACH"))
        calls = int(self._first(request, "CALLS"))
        times = [self._time(model, size, number % 256) for number in range(calls)]
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("NANOSECONDS", np.array(times, np.int64))]
        )

    def _first(self, request, name):
        return pb_utils.get_input_tensor_by_name(request, name).as_numpy()[0]

    def _time(self, model, size, content):
        values = np.full(size, content, np.uint8)
        start = time.perf_counter_ns()
        request = pb_utils.InferenceRequest(
            model_name=model,
            requested_output_names=["Y"],
            inputs=[pb_utils.Tensor("X", values)],
        )
        response = request.exec()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        result = pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
        end = time.perf_counter_ns()
        if np.may_share_memory(result, values):
            raise pb_utils.TritonModelException("the result is the caller's memory")
        if result.nbytes != size or result[-1] != content:
            raise pb_utils.TritonModelException("the result is another one")
        return end - start
