"""Measures, from inside a model, how long many calls at once take."""

import asyncio
import itertools
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Runs concurrent tasks that call a model repeatedly."""

    async def execute(self, requests):
        """Measure once for each request."""
        return [await self._answer(request) for request in requests]

    async def _answer(self, request):
        model = self._first(request, "MODEL").decode()
        tasks = int(self._first(request, "CONCURRENCY"))
        calls = int(self._first(request, "CALLS"))
        start = time.perf_counter_ns()
        answers = await asyncio.gather(
            *(self._ask(request, model, calls) for _ in range(tasks))
        )
        took = time.perf_counter_ns() - start
        waits = self._waits(answers) if model == "batched" else []
        times = pb_utils.Tensor("NANOSECONDS", np.array([took], np.int64))
        own = pb_utils.Tensor("OWN_NANOSECONDS", np.array(waits, np.int64))
        return pb_utils.InferenceResponse([times, own])

    def _waits(self, answers):
        """Return the time that each batch took inside of its model."""
        values = [
            pb_utils.get_output_tensor_by_name(answer, "Y").as_numpy().item()
            for answer in itertools.chain(*answers)
        ]
        return [value for value in values if value]

    def _first(self, request, name):
        return pb_utils.get_input_tensor_by_name(request, name).as_numpy()[0]

    async def _ask(self, request, model, calls):
        shape = (64,) if model == "identity" else (1, 64)
        answers = []
        for _ in range(calls):
            response = await pb_utils.InferenceRequest(
                model_name=model,
                requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("X", np.zeros(shape, np.uint8))],
                trace=request.trace(),
            ).async_exec()
            if response.has_error():
                raise pb_utils.TritonModelException(response.error().message())
            answers.append(response)
        return answers
