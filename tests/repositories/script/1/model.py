"""Runs the Python text it is sent, which answers as it likes; also if decoupled.

What the text leaves in `returned`, execute returns. The text knows `request`,
`requests`, `pb_utils`, `np`, some modules, `FINAL`, `pause(seconds)`, and
`answer(text, ...)`: a response with these texts, `failure(text, code)`: one with an
error, `see(value, ...)`: shows values in `told()`, a response that holds them as JSON,
`trial(function)`: shows what a call returns or raises, `bls(code, model)`: a BLS
request that sends Python text, `kept`: a dictionary that outlives the request.
"""

import asyncio
import json
import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    def initialize(self, args):
        self.kept = {}

    def execute(self, requests):
        code = pb_utils.get_input_tensor_by_name(requests[0], "CODE").as_numpy().flat[0]
        seen = []
        scope = {
            "FINAL": FINAL,
            "answer": answer,
            "asyncio": asyncio,
            "bls": bls,
            "failure": failure,
            "kept": self.kept,
            "np": np,
            "pause": time.sleep,
            "pb_utils": pb_utils,
            "request": requests[0],
            "requests": requests,
            "see": lambda *values: seen.append([spell(value) for value in values]),
            "threading": threading,
            "time": time,
            "told": lambda: answer(json.dumps(seen)),
            "trial": lambda action: seen.append(trial(action)),
        }
        exec(compile(code.decode(), "<case>", "exec"), scope)
        return scope.get("returned")


def answer(*texts):
    tensor = pb_utils.Tensor("OUT", np.array(texts, dtype=object))
    return pb_utils.InferenceResponse([tensor])


def failure(text, code=None):
    error = pb_utils.TritonError(text) if code is None else pb_utils.TritonError(text, code)
    return pb_utils.InferenceResponse(error=error)


def bls(code, model="script_decoupled", outputs=(), **fields):
    tensor = pb_utils.Tensor("CODE", np.array([code], dtype=object))
    return pb_utils.InferenceRequest(
        model_name=model, requested_output_names=list(outputs), inputs=[tensor], **fields
    )


def trial(action):
    """What an action returns, or the class and the text of what it raises."""
    try:
        return ["returned", spell(action())]
    except BaseException as error:
        return ["raised", type(error).__module__, type(error).__name__, str(error)]


def spell(value):
    """A value as JSON: responses by content, the rest by repr."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(spell, value)]
    if isinstance(value, pb_utils.InferenceResponse):
        error = value.error() and [value.error().message(), repr(value.error().code())]
        texts = [tensor.as_numpy().tolist() for tensor in value.output_tensors()]
        return ["response", error, repr(texts)]
    return repr(value)
