"""Reads every response of `script_decoupled` to the text that it is sent.

It has two instances, since Triton 24.10 never gets either of them back.
"""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.Tensor("CODE", tensor.as_numpy()) for tensor in requests[0].inputs()]
        call = pb_utils.InferenceRequest(
            model_name="script_decoupled", requested_output_names=["OUT"], inputs=inputs
        )
        texts = [describe(response) for response in call.exec(decoupled=True)]
        tensor = pb_utils.Tensor("OUT", np.array(texts, dtype=object))
        return [pb_utils.InferenceResponse([tensor])]


def describe(response):
    if response.has_error():
        return f"error {response.error().message()}"
    return repr([tensor.as_numpy().tolist() for tensor in response.output_tensors()])
