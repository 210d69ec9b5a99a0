"""Clients that ask a batching model at the same time."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import stage
from cells import cell

from blsnb import Run, Server

SUMS = cell(
    """
    stage.seen.append(len(requests))
    if x_of(request).flat[0] < 0:
        stage.events["busy"].set()
        stage.events["go"].wait(60)
    if x_of(request).flat[0] > 90:
        raise ValueError("too large")
    return [reply(x_of(each) * 2) for each in requests]
    """
)
FAN_OUT = cell(
    """
    calls = [
        pb_utils.InferenceRequest(
            model_name="sums",
            inputs=[pb_utils.Tensor("X", x_of(request) + number)],
            requested_output_names=["Y"],
        ).async_exec()
        for number in range(4)
    ]
    answers = [answer_of(answer) for answer in await asyncio.gather(*calls)]
    return [reply(np.concatenate(answers))]
    """,
    asynchronous=True,
)


def batching(settings: str = "", size: int = 4) -> str:
    """Return a configuration with a dynamic batcher."""
    return f"""
max_batch_size: {size}
input {{ name: "X" data_type: TYPE_FP32 dims: [ 1 ] }}
output {{ name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }}
dynamic_batching {{ {settings} }}
"""


def x(number: float) -> dict[str, np.ndarray]:
    """Return the inputs of a request with a batch of one."""
    return {"X": np.array([[number]], np.float32)}


class Clients:
    """Clients that send requests to a model at the same time."""

    def __init__(self, server: Server, pool: ThreadPoolExecutor) -> None:
        self.server = server
        self.pool = pool

    def busy(self) -> Future[Run]:
        """Keep the only instance busy until ``stage.events["go"]`` is set."""
        answer = self.ask(-1)
        assert stage.events["busy"].wait(60)
        return answer

    def ask(self, number: float, **options: object) -> Future[Run]:
        """Send a request, and return once it is in the queue."""
        if number < 0:
            return self.pool.submit(self.server.infer, "sums", x(number), **options)
        return self.send(x(number), **options)

    def send(self, inputs: dict[str, np.ndarray], **options: object) -> Future[Run]:
        """Send a request with any inputs, and return once it is in the queue."""
        waiting = self.waiting
        answer = self.pool.submit(self.server.infer, "sums", inputs, **options)
        while self.waiting == waiting and not answer.done():
            pass
        return answer

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return waiting(self.server)


def waiting(server: Server) -> int:
    """Return how many requests wait, for any model."""
    return sum(
        int(line.split()[-1])
        for line in server.metrics().splitlines()
        if line.startswith("nv_inference_pending_request_count{")
    )
