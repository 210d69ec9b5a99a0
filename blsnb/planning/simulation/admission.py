"""The engine's rate limiter in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from blsnb.engine.scheduling.rate_limiter import (
    Given,
    Needs,
    RateLimiter,
    Resource,
)
from blsnb.engine.scheduling.resource_admission import instance_needs
from blsnb.model.config import ModelConfig


class SimulatedTicket:
    """An execution of an instance, and the function that begins it."""

    __slots__ = ("begin",)

    def __init__(self, begin: Callable[[SimulatedTicket], None]) -> None:
        self.begin = begin


class Admission:
    """Admits executions of all models by the resources of a server.

    Parameters
    ----------
    given
        Counts of the server's resources.
    """

    def __init__(self, given: Given) -> None:
        self._limiter: RateLimiter[SimulatedTicket] = RateLimiter(given)

    def enter(self, config: ModelConfig) -> StationAdmission:
        """Add the instances of a model.

        Raises
        ------
        ResourceRefused
            An instance needs more than there is.
        """
        needs = instance_needs(config) or [Needs({})]
        name = config.name
        self._limiter.add({(name, number): each for number, each in enumerate(needs)})
        return StationAdmission(self._limiter, name, needs)

    @property
    def limits(self) -> Mapping[Resource, int]:
        """Count of each resource that an instance needs."""
        return self._limiter.limits


class StationAdmission:
    """Admits the executions of one model."""

    def __init__(
        self, limiter: RateLimiter[SimulatedTicket], name: str, needs: Sequence[Needs]
    ) -> None:
        self._limiter = limiter
        self._name = name
        self.needs = needs
        """Those of each instance."""

    def stage(self, instance: int, begin: Callable[[SimulatedTicket], None]) -> None:
        """Begin an execution when it is admitted, possibly at once."""
        _begin(self._limiter.stage(SimulatedTicket(begin), (self._name, instance)))

    def release(self, ticket: SimulatedTicket) -> None:
        """Release the resources of an execution."""
        _begin(self._limiter.release(ticket))


def _begin(begun: list[SimulatedTicket]) -> None:
    for ticket in begun:
        ticket.begin(ticket)
