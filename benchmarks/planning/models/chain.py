"""Calls models one after the other, some of them with a probability."""

import hashlib
import json
import random

import triton_python_backend_utils as pb_utils

ROUNDS = 3_000


class TritonPythonModel:
    """Calls the models of its parameter CALLS, such as ``"a b c?0.3"``."""

    def initialize(self, args):
        """Read the parameters."""
        given = json.loads(args["model_config"])["parameters"]
        named = [call.split("?") for call in given["CALLS"]["string_value"].split()]
        self.calls = [
            (name, float(chance[0]) if chance else 1) for name, *chance in named
        ]
        self.work = float(given.get("WORK", {"string_value": "0"})["string_value"])
        self.random = random.Random(args["model_instance_name"])

    def execute(self, requests):
        """Call the models for each request."""
        return [self.answer(request) for request in requests]

    def answer(self, request):
        """Return what the last called model returns."""
        value = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        if self.work:
            hashlib.pbkdf2_hmac("sha256", b"", b"", round(self.work * ROUNDS))
        for name, chance in self.calls:
            if self.random.random() < chance:
                value = called(name, value)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", value)])


def called(name, value):
    """Return the output of a model."""
    request = pb_utils.InferenceRequest(
        model_name=name,
        requested_output_names=["Y"],
        inputs=[pb_utils.Tensor("X", value)],
    )
    response = request.exec()
    if response.has_error():
        raise pb_utils.TritonModelException(response.error().message())
    return pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
