"""Admits executions of all models when the resources of their instances are free."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

from blsnb.arguments import plain
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.scheduling.rate_limiter import (
    Given,
    Needs,
    RateLimiter,
    Resource,
    ResourceRefused,
)
from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig

Counts: TypeAlias = Mapping[str, int | Mapping[int, int]]
"""Count of each resource, or its counts by device."""
RATE_LIMITS = _OFF, _ON = "off", "execution_count"


class Ticket:
    """An execution of an instance, and the function that begins it."""

    __slots__ = ("begin", "instance")

    def __init__(self, instance: ModelInstance, begin: Callable[[Ticket], None]):
        self.instance = instance
        self.begin = begin


class ResourceAdmission:
    """The rate limiter of a server, with its lock.

    Parameters
    ----------
    given
        Counts of the server's resources.
    """

    def __init__(self, given: Given) -> None:
        self.given = given
        self._limiter: RateLimiter[Ticket] = RateLimiter(given)
        self._lock = threading.Lock()

    def enter(self, config: ModelConfig, pool: InstancePool) -> PoolAdmission:
        """Add the instances of a model version.

        Raises
        ------
        ModelConfigError
            At stage ``create``: an instance needs more than there is.
        """
        needs = {
            (pool, number): each for number, each in enumerate(instance_needs(config))
        }
        with self._lock:
            try:
                self._limiter.add(needs)
            except ResourceRefused as refused:
                raise ModelConfigError(
                    str(refused),
                    "create",
                    advice="See rate_limiter in the model's instance_group, and "
                    "rate_limit_resources of the server.",
                ) from None
        return PoolAdmission(self._limiter, self._lock, pool)


class PoolAdmission:
    """Admission for the instances of one model version."""

    def __init__(
        self, limiter: RateLimiter[Ticket], lock: threading.Lock, pool: InstancePool
    ) -> None:
        self._limiter = limiter
        self._lock = lock
        self._pool = pool
        self._left = False

    def stage(self, number: int, begin: Callable[[Ticket], None]) -> None:
        """Begin an execution when it is admitted; the caller must hold no lock.

        Parameters
        ----------
        number
            Number of the instance in its pool.
        begin
            Called once, possibly at once, possibly on another model's thread.
        """
        ticket = Ticket(self._pool.instances[number], begin)
        with self._lock:
            begun = self._limiter.stage(ticket, (self._pool, number))
        _begin(begun)

    def release(self, ticket: Ticket) -> None:
        """Release the resources of an execution; the caller must hold no lock."""
        with self._lock:
            begun = self._limiter.release(ticket)
        _begin(begun)

    def resource_holders(self) -> list[ModelInstance]:
        """Return the instances that hold resources which the next execution lacks."""
        with self._lock:
            return [ticket.instance for ticket in self._limiter.resource_holders]

    def leave(self) -> None:
        """Remove the instances, each at the end of its execution; safe to repeat."""
        with self._lock:
            if not self._left:
                self._left = True
                count = len(self._pool.instances)
                self._limiter.remove((self._pool, n) for n in range(count))


def _begin(begun: list[Ticket]) -> None:
    for ticket in begun:
        ticket.begin(ticket)


def instance_needs(config: ModelConfig) -> list[Needs]:
    """Return the needs of each instance, in the order of their names.

    The larger count of a resource that is listed twice applies.
    """
    # First, because it refuses excessive counts.
    names = config.instance_names()
    limiters = [
        group.rate_limiter
        for group in config.instance_groups
        for _ in range(group.count * max(1, len(group.gpus)))
    ]
    return [
        _needs(limiter, spec.device_id)
        for limiter, spec in zip(limiters, names, strict=True)
    ]


def _needs(limiter: object, device: int) -> Needs:
    counts: dict[Resource, int] = {}
    for each in limiter.resources:  # type: ignore[attr-defined]
        # ``global`` is a keyword of Python.
        everywhere = getattr(each, "global")
        resource = Resource(each.name, None if everywhere else device)
        counts[resource] = max(each.count, counts.get(resource, 0))
    return Needs(counts, limiter.priority)  # type: ignore[attr-defined]


def parse_rate_limit(mode: str, resources: Counts) -> ResourceAdmission | None:
    """Return the server's rate limiter; None if rates are not limited.

    Raises
    ------
    ValueError
        The mode or a count is not valid.
    """
    if mode not in (_OFF, _ON):
        raise ValueError(
            f"rate_limit={mode!r} is not valid; expected {_OFF!r} or {_ON!r}"
        )
    given = {name: _by_device(name, counts) for name, counts in resources.items()}
    return ResourceAdmission(given) if mode == _ON else None


def _by_device(name: str, counts: int | Mapping[int, int]) -> dict[int | None, int]:
    items = counts.items() if isinstance(counts, Mapping) else [(None, counts)]
    by_device = {plain(device): plain(count) for device, count in items}
    numbers = (*by_device.values(), *(key for key in by_device if key is not None))
    if not all(type(each) is int and each >= 0 for each in numbers):
        raise ValueError(
            f"rate_limit_resources[{name!r}]={counts!r} is not valid; expected an "
            "integer of at least 0, or such integers by device"
        )
    return by_device
