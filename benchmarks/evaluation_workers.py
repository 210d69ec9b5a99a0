"""The speed-up of an evaluation by worker processes, one for each processor."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import blsnb
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers
from blsnb.evaluation.plain import EvaluationSettings, RowRunner
from blsnb.evaluation.plain import Row as DataRow
from blsnb.evaluation.work.chunks import Chunks
from blsnb.evaluation.work.portable import copy_server
from blsnb.evaluation.work.processes import RowsInProcesses
from blsnb.evaluation.work.rows_in_server import RowsInServer
from blsnb.evaluation.work.server_copy import Opening
from blsnb.parts.server_parts import parts_of

ROWS, MS = 400, 5
EFFICIENCY = 0.85
"""Share of n free processors that n worker processes use at least."""
BUSY = """
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "Y", "data_type": "TYPE_FP32", "dims": [-1]})
        return config

    def execute(self, requests):
        end = time.thread_time() + MS / 1000
        while time.thread_time() < end:
            pass
        return [self.respond(request) for request in requests]

    def respond(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])
"""


def run(servers: Servers) -> list[Row]:
    """Measure rows of Python code in this process, and on workers."""
    with blsnb.Server(trace_level="timestamps") as server:
        server.define("busy", BUSY.replace("MS", str(MS)))
        return [_speed_up(server, len(os.sched_getaffinity(0)))]


def _speed_up(server: blsnb.Server, count: int) -> Row:
    settings = EvaluationSettings("busy")
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder) / "models"
        opening = Opening(
            copy_server(parts_of(server), "busy", models), models, settings
        )
        found = _seconds(RowsInProcesses(opening, count), 20 * count)
    here = _seconds(RowsInServer(parts_of(server), settings), 1)
    what = f"evaluate(), {ROWS} rows of {MS} ms, workers={count}"
    goal = Goal(1 / (EFFICIENCY * count))
    return Row(what, found * 1e3, "ms", here * 1e3, "without workers", goal)


def _seconds(runner: RowRunner, first: int) -> float:
    """Return the duration of the rows, after some that load models and code."""
    try:
        _execute(runner, Chunks(_rows(first), size=1))
        start = time.perf_counter()
        _execute(runner, Chunks(_rows(ROWS)))
        return time.perf_counter() - start
    finally:
        runner.close()


def _execute(runner: RowRunner, chunks: Chunks) -> None:
    for results in runner.results(chunks):
        chunks.note(results)


def _rows(count: int) -> Iterator[DataRow]:
    for number in range(count):
        yield DataRow(number, {"X": np.zeros(8, np.float32)})
