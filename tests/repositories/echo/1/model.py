"""Sends its inputs back, whatever their type, and reports how they arrived."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        facts = {
            "request_id": request.request_id(),
            "correlation_id": request.correlation_id(),
            "flags": request.flags(),
            "timeout": request.timeout(),
            "parameters": json.loads(request.parameters()),
            "outputs": sorted(request.requested_output_names()),
            "inputs": [describe(tensor) for tensor in request.inputs()],
        }
        report = np.array([json.dumps(facts, sort_keys=True)], dtype=object)
        outputs = [*request.inputs(), pb_utils.Tensor("REPORT", report)]
        return pb_utils.InferenceResponse(output_tensors=outputs)


def describe(tensor):
    array = tensor.as_numpy()
    kept = [array.flags.owndata, array.flags.writeable, array.flags.c_contiguous]
    elements = sorted({type(each).__name__ for each in array.ravel().tolist()})
    return [tensor.name(), tensor.shape(), str(array.dtype), kept, elements]
