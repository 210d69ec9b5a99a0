"""Which instance executes next, by free resources and priority."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)
Given = Mapping[str, Mapping[int | None, int]]
"""Counts by name and device; device None means every device."""

_AT_FIRST = 2
"""Initial execution count of an instance: Triton counts its set-up and warm-up."""


class Resource(NamedTuple):
    """A resource of the server; the device of a global one is None."""

    name: str
    device: int | None


class Needs(NamedTuple):
    """The ``rate_limiter`` of an instance."""

    resources: Mapping[Resource, int]
    priority: int = 0


class ResourceRefused(Exception):
    """An instance could never execute, or resources contradict each other."""


class _Member:
    """An instance with its needs and its rank."""

    __slots__ = ("needs", "rank")

    def __init__(self, needs: Needs) -> None:
        self.needs = needs
        self.rank = _AT_FIRST * max(needs.priority, 1)
        """The lowest rank is next; priority 2 executes half as often as 1."""


class RateLimiter(Generic[T]):
    """Decides which executions begin; it neither waits nor starts threads.

    A ready execution is staged. Whenever one is staged or ends, the staged execution
    of lowest rank begins if its resources are free. As on Triton, only one begins at
    a time, and none overtakes it, whatever it needs.

    Parameters
    ----------
    given
        The server's counts; if empty, the largest need of any instance applies.

    References
    ----------
    core: src/rate_limiter.cc, AttemptAllocation, OnRelease, ResourceManager
    """

    def __init__(self, given: Given) -> None:
        self._given = given
        self._members: dict[Hashable, _Member] = {}
        self._limits: dict[Resource, int] = {}
        self._used: dict[Resource, int] = {}
        self._staged: dict[T, Hashable] = {}
        """Ready executions and their instances, in the order of staging."""
        self._running: dict[T, Hashable] = {}
        self._gone: set[Hashable] = set()
        """Instances to remove at the end of their executions."""

    def add(self, instances: Mapping[Any, Needs]) -> None:
        """Add all instances, or none and raise ResourceRefused in Triton's words."""
        before = dict(self._members)
        self._members.update((key, _Member(needs)) for key, needs in instances.items())
        try:
            self._update_limits()
        except ResourceRefused:
            self._members = before
            self._update_limits()
            raise

    def remove(self, instances: Iterable[Hashable]) -> None:
        """Remove instances, each at the end of its executions."""
        self._gone.update(instances)
        self._forget()

    def _forget(self) -> None:
        if not self._gone:
            return
        free = self._gone.difference(self._staged.values(), self._running.values())
        for key in free:
            del self._members[key]
        self._gone -= free
        self._update_limits()

    @property
    def limits(self) -> Mapping[Resource, int]:
        """Available count of each resource that any instance needs."""
        return self._limits

    def stage(self, execution: T, instance: Hashable) -> list[T]:
        """Stage a ready execution; return those that begin now."""
        self._staged[execution] = instance
        return self._attempt()

    def release(self, execution: T) -> list[T]:
        """Release an execution that ended; return those that begin now."""
        instance = self._running.pop(execution)
        self._use(self._members[instance].needs, -1)
        begun = self._attempt()
        if instance in self._staged.values():
            # Triton stages it again only now, which is another attempt.
            begun += self._attempt()
        self._forget()
        return begun

    @property
    def resource_holders(self) -> list[T]:
        """Running executions that hold resources which the next one lacks."""
        first = self._first()
        if first is None:
            return []
        lacking = self._lacking(self._members[self._staged[first]].needs)
        return [
            execution
            for execution, instance in self._running.items()
            if not self._members[instance].needs.resources.keys().isdisjoint(lacking)
        ]

    def _first(self) -> T | None:
        if len(self._staged) == 1:
            return next(iter(self._staged))
        first, lowest = None, 0
        for execution, instance in self._staged.items():
            rank = self._members[instance].rank
            if first is None or rank < lowest:
                first, lowest = execution, rank
        return first

    def _attempt(self) -> list[T]:
        first = self._first()
        if first is None:
            return []
        member = self._members[self._staged[first]]
        if self._lacking(member.needs):
            return []
        self._running[first] = self._staged.pop(first)
        self._use(member.needs, 1)
        member.rank += max(member.needs.priority, 1)
        return [first]

    def _use(self, needs: Needs, sign: int) -> None:
        for resource, count in needs.resources.items():
            self._used[resource] = self._used.get(resource, 0) + sign * count

    def _lacking(self, needs: Needs) -> list[Resource]:
        return [
            resource
            for resource, count in needs.resources.items()
            if self._used.get(resource, 0) + count > self._limits[resource]
        ]

    def _update_limits(self) -> None:
        most: dict[Resource, int] = {}
        for member in self._members.values():
            for resource, count in member.needs.resources.items():
                most[resource] = max(count, most.get(resource, 0))
        self._limits = most
        if self._given:
            self._limits = {resource: self._limit(resource) for resource in most}
            self._check_counts(most)
        _check_scopes(most)

    def _limit(self, resource: Resource) -> int:
        """Return the server's count of a resource."""
        counts = self._given.get(resource.name, {})
        of_all = resource.device is None
        fitting = (
            count
            for device, count in counts.items()
            if of_all or device in (None, resource.device)
        )
        return max(fitting, default=0)

    def _check_counts(self, most: Mapping[Resource, int]) -> None:
        for resource in sorted(most, key=_in_order):
            limit = self._limits[resource]
            if most[resource] > limit:
                raise ResourceRefused(
                    f'Resource count for "{resource.name}" is limited to {limit} which '
                    "will prevent scheduling of one or more model instances, the "
                    f"minimum required count is {most[resource]}"
                )


def _check_scopes(resources: Iterable[Resource]) -> None:
    """Refuse a name of both a global and a device resource."""
    named = sorted(resources, key=_in_order)
    everywhere = {resource.name for resource in named if resource.device is None}
    for resource in named:
        if resource.device is not None and resource.name in everywhere:
            raise ResourceRefused(
                f'Resource "{resource.name}" is present as both global and '
                "device-specific resource in the model configuration."
            )


def _in_order(resource: Resource) -> tuple[int, str]:
    device = -1 if resource.device is None else resource.device
    return device, resource.name
