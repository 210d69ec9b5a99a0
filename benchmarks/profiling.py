"""The price of `infer(profile=True)`, and the share of the samples that are taken."""

from __future__ import annotations

import statistics
import time

import numpy as np

import blsnb
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers

ROUNDS = 15
SOURCE = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        total = 0
        for each in range(2_000_000):
            total += each % 7
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
ONE = {"X": np.float32([1])}


def run(servers: Servers) -> list[Row]:
    """Measure a model of pure Python with and without samples, in alternating rounds.

    Times are those of its thread on a processor, so that other programs do not count.
    """
    plain: list[float] = []
    sampled: list[float] = []
    shares: list[float] = []
    with blsnb.Server() as server:
        server.define("work", SOURCE, config=CONFIG)
        server.infer("work", ONE)
        for _ in range(ROUNDS):
            plain.append(_took_ms(server)[0])
            took_ms, samples = _took_ms(server, profile=True)
            sampled.append(took_ms)
            shares.append(samples / took_ms)
    return [
        Row(
            "pure Python, sampled every ms",
            statistics.median(sampled),
            "ms",
            statistics.median(plain),
            "without profile=True",
            Goal(1.15),
        ),
        Row(
            "samples per ms of pure Python",
            statistics.median(shares),
            "1/ms",
            goal=Goal(least=0.8, unit="1/ms"),
        ),
    ]


def _took_ms(server: blsnb.Server, profile: bool = False) -> tuple[float, int]:
    """Return milliseconds on a processor, and the number of samples."""
    began = time.thread_time()
    run = server.infer("work", ONE, profile=profile)
    took_ms = 1000 * (time.thread_time() - began)
    found = run.profile
    return took_ms, 0 if found is None else found.samples.count
