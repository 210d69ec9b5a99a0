"""Simulated schedulers: the same moves on the engine, whose clock stands still."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import stage

from blsnb import Server
from blsnb.parts.server_parts import parts_of

from .engine_moves import EngineMoves
from .moved_clock import MovedClock
from .moves import HELD, STREAM, TENSORS
from .scheduler_cases import SCHEDULER_CASES
from .sequence_cases import SEQUENCE_CASES
from .simulated_moves import SimulatedMoves

HOUR_S = 3600.0
CASES = {**SEQUENCE_CASES, **SCHEDULER_CASES}


def source_of(config: str) -> str | None:
    """Return a model's source; None for an ensemble."""
    if "ensemble_scheduling" in config:
        return None
    return STREAM if "decoupled" in config else HELD


@pytest.mark.parametrize("kind", CASES)
def test_what_follows_a_move_is_simulated(kind):
    """Executions with their instances and batches, responses, refusals."""
    case = CASES[kind]
    mode = "execution_count" if case.limits_rates else "off"
    stage.begin()
    with (
        ThreadPoolExecutor(len(case.moves)) as clients,
        Server(rate_limit=mode, hang_notice_s=HOUR_S) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, config in case.models.items():
            server.define(name, source_of(config), config=TENSORS + config)
        catalog = parts_of(server).engine.catalog
        configs = {name: catalog.config(name) for name in case.models}
        limits = {} if case.limits_rates else None
        simulated = SimulatedMoves(configs, case.moves, limits).play()
        clock = MovedClock(server, patch)
        engine = EngineMoves(server, case.moves, clients, clock)
        try:
            assert simulated == list(engine.play(simulated))
        finally:
            stage.clear()
