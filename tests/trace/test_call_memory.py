"""What one recorded call takes in memory, in bytes that Python requests."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from cells import cell

import blsnb

CALLS = 2000
CONFIG = """
input { name: "X" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_UINT8 dims: [ -1 ] }
"""
IDENTITY = cell("return [reply(x_of(request))]")
LOOP = cell(
    """
    for _ in range(len(x_of(request))):
        pb_utils.InferenceRequest(
            model_name="identity",
            requested_output_names=["Y"],
            inputs=[pb_utils.Tensor("X", np.zeros(64, np.uint8))],
            trace=request.trace(),
        ).exec()
    return [reply(x_of(request))]
    """
)


@pytest.mark.parametrize(("level", "most"), [("timestamps", 400), ("tensors", 800)])
def test_a_recorded_call_stays_small(level, most):
    """A loop of calls of 64 bytes keeps few bytes for each of them."""
    with blsnb.Server(trace_level=level) as server:
        server.define("identity", IDENTITY, config=CONFIG)
        server.define("loop", LOOP, config=CONFIG)
        server.infer("loop", {"X": np.ones(10, np.uint8)})
        tracemalloc.start()
        try:
            run = server.infer("loop", {"X": np.ones(CALLS, np.uint8)})
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

        assert CALLS + 1 == len(run.trace.spans)
        assert kept / CALLS <= most
