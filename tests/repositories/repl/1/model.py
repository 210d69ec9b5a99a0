"""Runs the Python text it is sent; what the text shows is returned as JSON.

The text knows `request`, `args`, `pb_utils`, `np`, and three ways to answer:
`see(value, ...)` shows values, `trial(function)` shows what a call returns or
raises, `give(tensor)` makes a tensor named "T" an output of the response.
"""

import json

import numpy as np
import triton_python_backend_utils as pb_utils

NAMES_AT_IMPORT = sorted(name for name in dir(pb_utils) if not name.startswith("__"))


class TritonPythonModel:
    def initialize(self, args):
        self.args = args

    def execute(self, requests):
        responses = []
        for request in requests:
            responses.append(self.answer(request))
        return responses

    def answer(self, request):
        code = pb_utils.get_input_tensor_by_name(request, "CODE").as_numpy()[0]
        seen, given = [], []
        scope = {
            "args": self.args,
            "bls": bls,
            "give": given.append,
            "json": json,
            "names_at_import": NAMES_AT_IMPORT,
            "np": np,
            "pb_utils": pb_utils,
            "request": request,
            "see": lambda *values: seen.append([spell(value) for value in values]),
            "trial": lambda action: seen.append(trial(action)),
        }
        exec(compile(code.decode(), "<case>", "exec"), scope)
        text = json.dumps(seen)
        given.append(pb_utils.Tensor("OUT", np.array([text], dtype=object)))
        return pb_utils.InferenceResponse(output_tensors=given)


def bls(model_name, outputs, /, *inputs, **fields):
    """The response of a BLS call; inputs are tensors or (name, array) pairs."""
    tensors = [
        each if hasattr(each, "as_numpy") else pb_utils.Tensor(*each) for each in inputs
    ]
    request = pb_utils.InferenceRequest(
        model_name=model_name, requested_output_names=outputs, inputs=tensors, **fields
    )
    return request.exec()


def trial(action):
    """What an action returns, or the class and the text of what it raises."""
    try:
        return ["returned", spell(action())]
    except BaseException as error:
        return ["raised", type(error).__module__, type(error).__name__, str(error)]


def spell(value):
    """A value as JSON: arrays, tensors, responses by content, the rest by repr."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), list(value.shape), repr(value.tolist())]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(spell, value)]
    if isinstance(value, pb_utils.Tensor):
        return ["Tensor", value.name(), value.shape(), spell(value.as_numpy())]
    if isinstance(value, pb_utils.TritonError):
        return ["TritonError", value.message(), repr(value.code())]
    if isinstance(value, pb_utils.InferenceResponse):
        return ["response", spell(value.error()), spell(value.output_tensors())]
    return repr(value)
