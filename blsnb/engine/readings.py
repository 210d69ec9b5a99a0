"""The values of all counters of a server at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from blsnb.engine.catalog import Catalog, VersionState
from blsnb.engine.request.abandoned import AbandonedExecutions
from blsnb.engine.served import Served

Running = Mapping[tuple[str, int], list[str]]
"""What still runs after its request has ended, by model and version."""


class VersionReading(NamedTuple):
    """The counters of one model version.

    Parameters
    ----------
    busy, instances
        Number of instances that execute, and of all instances; 0 for an ensemble.
    waiting
        Number of requests that wait for execution.
    succeeded, failed
        Number of requests since the load; like the next three, 0 after each load.
    inferences, executions
        Numbers of inferences and of executions.
    queued_ns
        Total time of the requests in the queue.
    latest
        End and duration in nanoseconds of each of the latest successful requests.
    """

    name: str
    version: int
    state: str
    reason: str = ""
    busy: int = 0
    instances: int = 0
    waiting: int = 0
    succeeded: int = 0
    failed: int = 0
    inferences: int = 0
    executions: int = 0
    queued_ns: int = 0
    latest: tuple[tuple[int, int], ...] = ()


class Reading(NamedTuple):
    """The counters of all versions, and when they were read.

    Parameters
    ----------
    in_flight
        Number of client requests in flight.
    """

    at_ns: int
    in_flight: int
    versions: tuple[VersionReading, ...]


def read(
    catalog: Catalog, abandoned: AbandonedExecutions, in_flight: int, now_ns: int
) -> Reading:
    """Read all counters, and start keeping the latest requests."""
    running = abandoned.running()
    versions = (_with(each, running) for each in _versions(catalog, running))
    return Reading(now_ns, in_flight, tuple(versions))


def unwatch(catalog: Catalog) -> None:
    """Stop keeping the latest requests of every model."""
    for version in catalog.all_versions():
        version.statistics.unwatch()


def _with(version: VersionReading, running: Running) -> VersionReading:
    """Return a reading whose reason names what still runs after Ctrl-C."""
    texts = running.get((version.name, version.version), [])
    reason = "; ".join(filter(None, [*texts, version.reason]))
    return version._replace(reason=reason)


def _versions(catalog: Catalog, running: Running) -> Iterator[VersionReading]:
    for name in catalog.known_names():
        serving = catalog.versions(name)
        for number, state in sorted(catalog.states(name).items()):
            yield _version(name, number, state, serving.get(number))
    for name, number in running:
        if number not in catalog.states(name):
            yield VersionReading(name, number, "REMOVED")


def _version(
    name: str, number: int, state: VersionState, served: Served | None
) -> VersionReading:
    if served is None:
        return VersionReading(name, number, *state)
    return VersionReading(
        name,
        number,
        *state,
        *served.instance_counts,
        served.waiting_count,
        *served.statistics.totals(),
        *served.statistics.work(),
        served.statistics.watch(),
    )
