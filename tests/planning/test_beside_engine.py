"""Simulated sequences, rate limits and streams: the same moves on the engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
import stage

from blsnb import Server
from blsnb.parts.server_parts import parts_of
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START, RequestFields

from .moves import (
    HELD,
    STREAM,
    TENSORS,
    End,
    EngineMoves,
    Move,
    Send,
    SimulatedMoves,
)

START, END = SEQUENCE_START, SEQUENCE_END


class Case(NamedTuple):
    """Models by name with their configurations, and moves of clients."""

    models: dict[str, str]
    moves: list[Move]
    limits_rates: bool = False


def of(sequence: int, flags: int = 0) -> RequestFields:
    """Return the fields of a request of a sequence."""
    return RequestFields(correlation_id=sequence, flags=flags)


def instances(count: int, more: str = "") -> str:
    """Return an instance group."""
    return f"instance_group {{ kind: KIND_CPU count: {count} {more} }}"


def ends(*names: str, model: str = "m") -> list[Move]:
    """Return the ends of executions, one after the other."""
    return [End(name, model) for name in names]


def limited(count: int, priority: int, resources: int = 1) -> str:
    """Return an instance group that needs a resource R."""
    needs = f'resources {{ name: "R" global: true count: {resources} }}'
    return instances(count, f"rate_limiter {{ {needs} priority: {priority} }}")


# Longer than simulated moves take, which are a second apart.
IDLE = "max_sequence_idle_microseconds: 600000000"
SEQUENCES: list[Move] = [
    *(Send(f"{name}1", fields=of(n, START)) for n, name in enumerate("abcde", 1)),
    Send("x", fields=of(9)),
    Send("a2", fields=of(1)),
    Send("b2", fields=of(2, END)),
    *ends("a1", "b1", "a2", "b2"),
    Send("c2", fields=of(3, END)),
    Send("f1", fields=of(6, START | END)),
    *ends("c1", "d1", "c2"),
    Send("a3", fields=of(1, END)),
    Send("d2", fields=of(4, END)),
    Send("e2", fields=of(5, END)),
    *ends("a2", "b2", "a3", "c2", "d1", "d2", "e1", "f1", "e2"),
    *ends("a3", "d1", "d2", "e1", "e2", "f1"),
    *ends("d2", "e1", "e2", "f1"),
    Send("a4", fields=of(1)),
]
DIRECT = f"sequence_batching {{ direct {{ }} {IDLE} }} "
RATES: list[Move] = [
    Send("a1", "a"),
    *(Send(f"{model}{number}", model) for number in (2, 3, 4) for model in "ab"),
    *ends("a1", "a2", "a3", "a4", model="a"),
    *ends("b2", "b3", "b4", model="b"),
] + 2 * [*ends("a2", "a3", "a4", model="a"), *ends("b2", "b3", "b4", model="b")]
BATCHING = "max_batch_size: 2 dynamic_batching { } "
CASES = {
    "direct": Case({"m": "max_batch_size: 1 " + DIRECT + instances(2)}, SEQUENCES),
    "direct in batches": Case(
        {"m": "max_batch_size: 2 " + DIRECT + instances(2)}, SEQUENCES
    ),
    "rates": Case(
        {
            "a": "max_batch_size: 1 " + limited(2, 2),
            "b": "max_batch_size: 1 " + limited(1, 1),
        },
        RATES,
        True,
    ),
    "rates in batches": Case(
        {"a": BATCHING + limited(2, 2), "b": BATCHING + limited(2, 1, 2)},
        RATES,
        True,
    ),
    "stream": Case(
        {
            "m": "max_batch_size: 1 model_transaction_policy { decoupled: true } "
            + instances(1)
        },
        [
            *(Send(name) for name in "abcd"),
            *ends("a", "b", "b", "a", "c", "d", "c", "d"),
        ],
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_what_follows_a_move_is_simulated(kind):
    """Executions with their instances and batches, responses, refusals."""
    case = CASES[kind]
    mode = "execution_count" if case.limits_rates else "off"
    stage.begin()
    with (
        ThreadPoolExecutor(len(case.moves)) as clients,
        Server(rate_limit=mode) as server,
    ):
        for name, config in case.models.items():
            source = STREAM if "decoupled" in config else HELD
            server.define(name, source, config=TENSORS + config)
        catalog = parts_of(server).engine.catalog
        configs = {name: catalog.config(name) for name in case.models}
        limits = {} if case.limits_rates else None
        simulated = SimulatedMoves(configs, case.moves, limits).play()
        engine = EngineMoves(server, case.moves, clients)
        try:
            assert simulated == list(engine.play(simulated))
        finally:
            stage.clear()
