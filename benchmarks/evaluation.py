"""The price of an evaluation's row, beside the request of the row itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import blsnb
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers

ROUNDS = 9
ROWS = 2000
SOURCE = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("Y", request.inputs()[0].as_numpy())]
            )
            for request in requests
        ]
"""
CONFIG = """
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
"""


def run(servers: Servers) -> list[Row]:
    """Measure rows with a metric and requests in a loop, in alternating rounds.

    Times are those of its thread on a processor, so that other programs do not count.
    """
    rows = [{"X": np.float32([number]), "label": number} for number in range(ROWS)]
    loop: list[float] = []
    evaluated: list[float] = []
    with blsnb.Server() as server:
        server.define("echo", SOURCE, config=CONFIG)

        def infer() -> None:
            for row in rows:
                server.infer("echo", {"X": row["X"]}, show=False).outputs["Y"]

        def evaluate() -> None:
            server.evaluate("echo", rows, metrics={"error": _error})

        evaluate()
        for _ in range(ROUNDS):
            loop.append(_us_of_row(infer))
            evaluated.append(_us_of_row(evaluate))
    differences = [a - b for a, b in zip(evaluated, loop, strict=True)]
    return [
        Row(
            "a row of an evaluation, with a metric",
            statistics.median(evaluated),
            "µs",
            statistics.median(loop),
            "infer in a loop",
        ),
        Row(
            "of it besides the request",
            statistics.median(differences),
            "µs",
            goal=Goal(50.0, unit="µs"),
        ),
    ]


def _error(row: dict[str, object], outputs: dict[str, np.ndarray]) -> float:
    return float(outputs["Y"][0]) - float(str(row["label"]))


def _us_of_row(work: Callable[[], None]) -> float:
    began = time.thread_time()
    work()
    return 1e6 * (time.thread_time() - began) / ROWS
