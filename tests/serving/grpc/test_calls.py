"""Threads of gRPC calls."""

from __future__ import annotations

import threading

import pytest

from blsnb.serving.grpc.calls import GrpcThreads


@pytest.mark.parametrize(
    ("methods", "limit", "what"),
    [
        (["RepositoryModelLoad", "RepositoryModelUnload"], 64, "loads are in flight"),
        (["ModelReady"], 64, "readiness queries are in flight"),
    ],
)
def test_calls_of_a_kind_share_their_threads(
    methods: list[str], limit: int, what: str
) -> None:
    """Calls of other kinds are still admitted."""
    threads, ending = GrpcThreads(), threading.Event()

    def begin(method: str) -> str:
        refusal = threads.claim(f"/s/{method}")
        threads.submit(lambda: None if refusal else ending.wait(60))
        return refusal

    try:
        begun = [begin(methods[n % len(methods)]) for n in range(limit)]
        refusals = {begin(method) for method in methods}
        others = [begin("ServerLive"), begin("ModelInfer")]
    finally:
        ending.set()
        threads.shutdown()

    assert [""] * limit == begun
    assert {f"{limit} {what} already, and no more are taken"} == refusals
    assert ["", ""] == others
