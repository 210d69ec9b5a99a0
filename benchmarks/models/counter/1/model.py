"""Answers with as many responses as it is asked for."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """A decoupled model."""

    def execute(self, requests):
        """Count for each request."""
        for request in requests:
            count = pb_utils.get_input_tensor_by_name(request, "COUNT").as_numpy()[0]
            sender = request.get_response_sender()
            for number in range(int(count)):
                tensor = pb_utils.Tensor("NUMBER", np.array([number], np.int64))
                sender.send(pb_utils.InferenceResponse([tensor]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
