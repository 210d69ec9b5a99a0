"""The real server may end; its requests are then sent again."""

from __future__ import annotations

import os
import signal

import pytest

from blsnb.parity.triton.server_process import SHARED_MEMORY

from .triton_target import TritonTarget


def test_what_a_dying_server_was_asked_is_asked_again(
    triton: TritonTarget | None,
) -> None:
    """A new server loads the needed models."""
    if triton is None:
        pytest.skip("no real Triton server here")
    lives = []

    def work() -> bool:
        triton.load("add")
        lives.append(triton.server)
        if len(lives) == 1:
            os.killpg(triton.server.pid, signal.SIGKILL)
        return triton.lives()

    assert triton.surviving(work)
    assert [False, True] == [server.alive for server in lives]


def test_a_failure_of_a_living_server_is_no_death(triton: TritonTarget | None) -> None:
    """It is returned once."""
    if triton is None:
        pytest.skip("no real Triton server here")
    asked = []

    def work() -> None:
        asked.append(1)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        triton.surviving(work)
    assert [1] == asked


def test_a_server_that_was_stopped_leaves_no_shared_memory(
    triton: TritonTarget | None,
) -> None:
    """Its models have some while they serve."""
    if triton is None:
        pytest.skip("no real Triton server here")
    triton.load("add")
    prefix = f"{triton.server._memory}*"
    assert list(SHARED_MEMORY.glob(prefix))

    triton.start_again()

    assert [] == list(SHARED_MEMORY.glob(prefix))
