"""Measures, from inside a model, how long a stream of responses takes to read."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Reads all that the model ``counter`` sends."""

    def execute(self, requests):
        """Measure once for each request."""
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        count = pb_utils.get_input_tensor_by_name(request, "COUNT").as_numpy()
        question = pb_utils.InferenceRequest(
            model_name="counter",
            requested_output_names=["NUMBER"],
            inputs=[pb_utils.Tensor("COUNT", count)],
            trace=request.trace(),
        )
        start = time.perf_counter_ns()
        numbers = [self._number(each) for each in question.exec(decoupled=True)]
        took = time.perf_counter_ns() - start
        if [number for number in numbers if number is not None] != list(
            range(count[0])
        ):
            raise pb_utils.TritonModelException("the numbers are others")
        times = pb_utils.Tensor("NANOSECONDS", np.array([took], np.int64))
        return pb_utils.InferenceResponse([times])

    def _number(self, response):
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        tensor = pb_utils.get_output_tensor_by_name(response, "NUMBER")
        return None if tensor is None else int(tensor.as_numpy()[0])
