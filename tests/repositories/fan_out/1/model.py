"""Asks three times, together or one after the other; the second call is wrong."""

import asyncio

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests):
        return [await self.answer(request) for request in requests]

    async def answer(self, request):
        way = pb_utils.get_input_tensor_by_name(request, "WAY").as_numpy()[0]
        a = pb_utils.get_input_tensor_by_name(request, "A").as_numpy()
        calls = [self.call(a, model) for model in ("add", "nope", "add")]
        if way == b"gathered":
            answers = await asyncio.gather(*[call.async_exec() for call in calls])
        elif way == b"awaited":
            answers = [await call.async_exec() for call in calls]
        else:
            answers = [call.exec() for call in calls]
        saw = pb_utils.Tensor("SAW", np.array([*map(spell, answers)], dtype=object))
        return pb_utils.InferenceResponse([saw])

    def call(self, a, model):
        inputs = [pb_utils.Tensor("A", a), pb_utils.Tensor("B", a)]
        return pb_utils.InferenceRequest(
            model_name=model, requested_output_names=["SUM"], inputs=inputs
        )


def spell(response):
    if response.has_error():
        return response.error().message()
    return str(response.output_tensors()[0].as_numpy().tolist())
