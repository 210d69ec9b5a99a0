"""Measures, from inside a model, how long ``exec()`` of another one takes."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Sends a model tensors again and again and answers with the times."""

    def execute(self, requests):
        """Measure once for each request."""
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        model = self._first(request, "MODEL").decode()
        size = int(self._first(request, "BYTES_EACH"))
        calls = range(int(self._first(request, "CALLS")))
        times = [self._time(request, model, size) for _ in calls]
        exec_only, with_values = np.array(times, np.int64).T.copy()
        tensors = [
            pb_utils.Tensor("NANOSECONDS", exec_only),
            pb_utils.Tensor("WITH_VALUES", with_values),
        ]
        return pb_utils.InferenceResponse(tensors)

    def _first(self, request, name):
        return pb_utils.get_input_tensor_by_name(request, name).as_numpy()[0]

    def _time(self, request, model, size):
        # A tensor of its own for each call: one sent twice need not be copied twice.
        # It is in immutable bytes.
        values = np.frombuffer(bytes(size), np.uint8)
        if model == "identity":
            values = np.zeros(size, np.uint8)
        question = pb_utils.InferenceRequest(
            model_name=model,
            requested_output_names=["Y"],
            inputs=[pb_utils.Tensor("X", values)],
            trace=request.trace(),
        )
        start = time.perf_counter_ns()
        response = question.exec()
        end = time.perf_counter_ns()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        result = pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
        read = time.perf_counter_ns()
        if model == "identity" and np.may_share_memory(result, values):
            raise pb_utils.TritonModelException("the result is the caller's memory")
        if result.nbytes != size:
            raise pb_utils.TritonModelException("the result is another one")
        return end - start, read - start
