"""One model of a chain: it asks the next one, and the last one answers."""

import numpy as np
import triton_python_backend_utils as pb_utils

LAST = 9


class TritonPythonModel:
    """Knows its place in the chain by its name."""

    def initialize(self, args):
        """Find out who is next."""
        stem, place = args["model_name"].rsplit("_", 1)
        self.next = None if int(place) == LAST else f"{stem}_{int(place) + 1}"

    def execute(self, requests):
        """Pass every request on."""
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        values = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        if self.next is not None:
            values = self._ask(request, values)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", values)])

    def _ask(self, request, values):
        response = pb_utils.InferenceRequest(
            model_name=self.next,
            requested_output_names=["Y"],
            inputs=[pb_utils.Tensor("X", np.array(values))],
            trace=request.trace(),
        ).exec()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        return pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
