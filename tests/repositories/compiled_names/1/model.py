"""Imports the embedded module at the top, where its names are there already."""

import json

import c_python_backend_utils as compiled
import numpy as np
import triton_python_backend_utils as pb_utils
from c_python_backend_utils import Tensor

NAMES = sorted(name for name in dir(compiled) if not name.startswith("__"))


class Mine(compiled.Tensor):
    pass


class TritonPythonModel:
    def execute(self, requests):
        answer = compiled.InferenceRequest(
            model_name="add", inputs=[], requested_output_names=["SUM"]
        ).exec()
        same = [
            name
            for name in NAMES
            if getattr(pb_utils, name, None) is getattr(compiled, name)
        ]
        seen = [
            type(requests[0]) is compiled.InferenceRequest,
            issubclass(Mine, pb_utils.Tensor) and Tensor is pb_utils.Tensor,
            type(answer) is compiled.InferenceResponse,
            answer.error().message(),
            same,
        ]
        tensors = [text("SEEN", seen), text("NAMES", NAMES)]
        return [compiled.InferenceResponse(tensors)]


def text(name, value):
    return Tensor(name, np.array([json.dumps(value)], dtype=object))
