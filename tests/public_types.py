"""Types of public names as checkers show them to users: read by mypy, never executed.

mypy is strict: an ignored error that it no longer finds is an error.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import blsnb
from blsnb.benchmark.bench import Bench
from blsnb.evaluation.result.evaluation import Evaluation
from blsnb.planning.plans.plan import Plan
from blsnb.repository.status import ModelStatus
from blsnb.results.response_stream import Stream
from blsnb.trace.spans import Trace

Array = np.ndarray[Any, Any]


def a_request_and_its_results(server: blsnb.Server) -> None:
    """A run has arrays by name, and its responses."""
    run = server.infer("m", {"X": [1]}, request_id="a", timeout_us=5, outputs=["Y"])
    assert_type(run, blsnb.Run)
    assert_type(run["Y"], Array)
    assert_type(run.outputs, dict[str, Array])
    assert_type(run.responses, list[blsnb.Response])
    assert_type(run.trace, Trace)
    assert_type(server.runs, list[blsnb.Run])


def several_responses(server: blsnb.Server) -> None:
    """A stream has responses."""
    assert_type(server.stream("m", {}), Stream)
    assert_type([response["Y"] for response in blsnb.stream("m", {})], list[Array])


async def awaited(server: blsnb.Server) -> None:
    """Coroutines and asynchronous iterators have the same results."""
    assert_type(await blsnb.async_infer("m", {}), blsnb.Run)
    async for response in server.async_stream("m", {}):
        assert_type(response, blsnb.Response)


def the_default_server() -> None:
    """Its functions have the types of the methods."""
    assert_type(blsnb.server(), blsnb.Server)
    assert_type(blsnb.infer("m", {}, profile=True), blsnb.Run)
    assert_type(blsnb.bench("m", {}, concurrency=[1, 2]), Bench)
    assert_type(blsnb.evaluate("m", []), Evaluation)
    assert_type(blsnb.plan("m", {}, rate=5, p99_ms=20), Plan)
    assert_type(blsnb.load_run("m.blsrun"), blsnb.Run)


def models() -> None:
    """A server is a context manager; models have a status."""
    with blsnb.Server(model_repository="models") as server:
        assert_type(server, blsnb.Server)
        assert_type(server.define("m", "source", config=""), ModelStatus)


def mistakes(server: blsnb.Server) -> None:
    """Unknown and wrong options are errors, also on the default server."""
    server.infer("m", {}, oops=1)  # type: ignore[call-arg]
    server.infer("m", {}, timeout_us="5")  # type: ignore[arg-type]
    server.infer("m", {}, True)  # type: ignore[call-arg]
    blsnb.infer("m", {}, oops=1)  # type: ignore[call-arg]
    blsnb.stream("m", [])  # type: ignore[arg-type]
    blsnb.Server("models")  # type: ignore[call-arg]
    blsnb.infr("m", {})  # type: ignore[attr-defined]
