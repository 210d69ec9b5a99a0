"""Calls models at once, then one after them."""

import asyncio
import json

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Calls the models of its parameter CALLS, and LAST after their ends."""

    def initialize(self, args):
        """Read the parameters."""
        given = json.loads(args["model_config"])["parameters"]
        self.calls = given["CALLS"]["string_value"].split()
        self.last = given.get("LAST", {"string_value": ""})["string_value"].split()

    async def execute(self, requests):
        """Call the models for each request."""
        return [await self.answer(request) for request in requests]

    async def answer(self, request):
        """Return what the last called model returns."""
        value = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        calls = [called(name, value) for name in self.calls]
        value = (await asyncio.gather(*calls))[-1]
        for name in self.last:
            value = await called(name, value)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", value)])


async def called(name, value):
    """Return the output of a model."""
    request = pb_utils.InferenceRequest(
        model_name=name,
        requested_output_names=["Y"],
        inputs=[pb_utils.Tensor("X", value)],
    )
    response = await request.async_exec()
    if response.has_error():
        raise pb_utils.TritonModelException(response.error().message())
    return pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
