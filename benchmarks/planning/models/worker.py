"""Waits, computes, or both: a time for each execution and one for each request."""

import hashlib
import json
import math
import random
import time

import triton_python_backend_utils as pb_utils

ROUNDS = 3_000
"""Rounds of a hash that are one unit of computing: about a millisecond."""


class TritonPythonModel:
    """Takes the times of its parameters."""

    def initialize(self, args):
        """Read the parameters."""
        given = json.loads(args["model_config"])["parameters"]

        def number(name):
            return float(given.get(name, {"string_value": "0"})["string_value"])

        self.wait_ms, self.wait_each_ms = number("WAIT_MS"), number("WAIT_EACH_MS")
        self.work, self.work_each = number("WORK"), number("WORK_EACH")
        self.spread = number("SPREAD")
        self.random = random.Random(args["model_instance_name"])

    def execute(self, requests):
        """Compute, then wait."""
        count = len(requests)
        units = self.work + self.work_each * count
        if units:
            hashlib.pbkdf2_hmac("sha256", b"", b"", round(units * ROUNDS))
        wait_ms = self.wait_ms + self.wait_each_ms * count
        if wait_ms:
            time.sleep(wait_ms * self.factor() / 1e3)
        return [answer(request) for request in requests]

    def factor(self):
        """Return a factor with a mean of 1."""
        spread = self.spread
        return math.exp(self.random.gauss(0, spread) - spread**2 / 2) if spread else 1


def answer(request):
    """Return the input as the output."""
    value = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
    return pb_utils.InferenceResponse([pb_utils.Tensor("Y", value)])
