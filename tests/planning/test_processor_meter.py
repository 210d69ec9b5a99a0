"""Processor time of executions."""

from __future__ import annotations

import time

from blsnb.planning.processor_meter import ProcessorMeter

SPENT_NS = 3_000_000


def compute() -> None:
    """Compute for a while."""
    end_ns = time.thread_time_ns() + SPENT_NS
    while time.thread_time_ns() < end_ns:
        pass


def test_a_caller_does_not_compute_what_its_call_computes():
    """It calls a model on its own thread; parts of an execution are added up."""
    meter = ProcessorMeter([])

    def call() -> str:
        meter.run(2, compute)
        return "called"

    assert "called" == meter.run(1, call)
    once_ns = meter.computing_ns[2]
    assert 0 < meter.computing_ns[1] < SPENT_NS <= once_ns
    meter.run(2, compute)
    assert meter.computing_ns[2] >= once_ns + SPENT_NS
