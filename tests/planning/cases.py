"""Moves of clients as cases: models with their configurations, and what is sent."""

from __future__ import annotations

from typing import NamedTuple

from blsnb.request_fields import RequestFields

from .moves import End, Move

IDLE = "max_sequence_idle_microseconds: 600000000"
"""Longer than all moves."""
DELAY = "max_queue_delay_microseconds: 1200000"


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
