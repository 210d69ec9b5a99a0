"""The model, the rows and the server of tests of places where rows are executed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from blsnb.evaluation.plain import EvaluationSettings, Row, RowResult, RowRunner
from blsnb.evaluation.work.chunks import Chunks
from blsnb.evaluation.work.portable import copy_server
from blsnb.evaluation.work.server_copy import Opening
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of

DOUBLE = """
import os
import sys
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "TYPE_INT64", "dims": [-1]})
        config.add_output({"name": "Y", "data_type": "TYPE_INT64", "dims": [-1]})
        return config

    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        if x[0] == -1:
            os.kill(os.getpid(), 9)
        if x[0] == -7 and os.fork():
            os.kill(os.getpid(), 9)
        if x[0] == -7:
            time.sleep(600)
        if x[0] == -2:
            os._exit(3)
        if x[0] == -3:
            raise MemoryError("no room for 1 TB")
        if x[0] == -4:
            error = pb_utils.TritonError("no answer", pb_utils.TritonError.NOT_FOUND)
            return pb_utils.InferenceResponse(error=error)
        while x[0] == -5:
            time.sleep(0.01)
        if x[0] == -6:
            sys.exit(4)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", 2 * x)])
"""
"""Doubles X; a negative first value kills its process, fails, or never returns."""
MODEL = "double"
SETTINGS = EvaluationSettings(MODEL)


def rows(values: Iterable[int]) -> Iterator[Row]:
    """Yield a row for each value."""
    for number, value in enumerate(values):
        yield Row(number, {"X": np.array([value, 1])}, {"label": value})


def by_number(runner: RowRunner, chunks: Chunks) -> list[RowResult]:
    """Return the results of chunks in the order of their rows."""
    found = []
    for results in runner.results(chunks):
        chunks.note(results)
        found += results
    return sorted(found, key=lambda result: result.number)


def answers(results: Iterable[RowResult]) -> list[tuple[object, ...]]:
    """Return what the client of each row receives, without times."""
    return [
        (
            result.number,
            {name: np.asarray(it).tolist() for name, it in result.outputs.items()},
            result.error.split("\n")[0],
            result.code,
        )
        for result in results
    ]


@contextmanager
def opening(folder: Path) -> Iterator[Opening]:
    """Serve the model, and copy its server into a folder."""
    with Server() as server:
        server.define(MODEL, DOUBLE)
        yield Opening(copy_server(parts_of(server), MODEL, folder), folder, SETTINGS)
