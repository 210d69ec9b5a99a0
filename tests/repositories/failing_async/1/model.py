"""An `async def execute` that fails in the way it is asked for."""

import asyncio

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests):
        how = pb_utils.get_input_tensor_by_name(requests[0], "HOW").as_numpy()[0].decode()
        await asyncio.sleep(0)
        return await getattr(self, how)(requests)

    async def nothing_wrong(self, requests):
        tensor = pb_utils.Tensor("OUT", np.array(["fine"], dtype=object))
        return [pb_utils.InferenceResponse([tensor])]

    async def value_error(self, requests):
        raise ValueError("boom")

    async def after_an_await(self, requests):
        await asyncio.sleep(0.001)
        raise ValueError("later")

    async def cancelled(self, requests):
        raise asyncio.CancelledError

    async def timeout(self, requests):
        await asyncio.wait_for(asyncio.sleep(10), 0.001)

    async def a_tuple(self, requests):
        return ()

    async def too_few(self, requests):
        return []
