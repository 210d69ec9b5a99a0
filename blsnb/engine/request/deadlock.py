"""Detect waits for an instance that can never end, by a search of the wait graph."""

from __future__ import annotations

from collections.abc import Sequence

from blsnb.engine.request.inflight import (
    Execution,
    Inflight,
    InstanceQueue,
    RunningInstance,
)
from blsnb.printable import counted
from blsnb.trace.events import Call


class Deadlock(Exception):
    """The wait would never end; `lines` describe the circle of waits."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def is_deadlocked(waiting: Inflight) -> bool:
    """Whether a request waits for instances that all wait for it.

    A waiting request is stuck if every instance of its model runs a stuck execution; a
    request of an ensemble is stuck if all its steps are. An execution is stuck if its
    own thread waits for a stuck request. A request that is being visited counts as
    stuck, so that only a cycle remains. A wait through a model's threads, event
    loops or senders is never stuck, because they may still make progress.
    """
    return _is_stuck(waiting, set())


def _is_stuck(request: Inflight, visited: set[int]) -> bool:
    if id(request) in visited:
        return True
    visited.add(id(request))
    if request.final:
        return False
    if request.steps is not None and request.steps.active:
        return all(_is_stuck(step, visited) for step in list(request.steps.active))
    pool = request.waiting_for
    if pool is not None:
        holders = pool.resource_holders()
        if holders and all(_is_blocked(i.execution, {*visited}) for i in holders):
            return True
        return all(_is_blocked(i.execution, visited) for i in pool.instances)
    return _is_blocked(request.execution, visited)


def _is_blocked(execution: Execution | None, visited: set[int]) -> bool:
    if execution is None or execution.blocked_on is None:
        return False
    return _is_stuck(execution.blocked_on, visited)


def is_held_by_callers(waiting: Inflight) -> bool:
    """Whether every instance that a request waits for executes one of its callers.

    Such a wait never ends if they wait for the response, in whatever way.
    """
    callers: list[Call] = []
    call = waiting.call.parent
    while call is not None:
        callers.append(call)
        call = call.parent
    pool = waiting.waiting_for
    return pool is not None and all(
        instance.execution is not None
        and any(each.call in callers for each in instance.execution.inflights)
        for instance in pool.instances
    )


def wait_cycle(waiting: Inflight) -> list[str]:
    """Return a sentence for each call of the cycle, starting with the wait."""
    lines: list[str] = []
    request: Inflight | None = waiting
    seen: set[int] = set()
    while request is not None and id(request) not in seen:
        seen.add(id(request))
        model = request.message.model_name
        if request.steps is not None and request.steps.active:
            lines.append(f"{model} is an ensemble and waits for its step")
            request = next(iter(request.steps.active))
            continue
        pool = request.waiting_for
        if pool is not None:
            line, execution = _wait_in(pool)
            lines.append(f"a request to {model} waits ({line})")
        else:
            execution = request.execution
        if execution is None or execution.blocked_on is None:
            break
        request = execution.blocked_on
        place = f" at line {request.call.line}" if request.call.line else ""
        target = request.message.model_name
        lines.append(f"{execution.instance.name} waits in exec() of {target}{place}")
    return lines


def _wait_in(pool: InstanceQueue) -> tuple[str, Execution | None]:
    """Return what a request to a model waits for, and one execution that holds it."""
    holders = lacks_resources(pool)
    if holders:
        return f"for resources of {holders[0].name}", holders[0].execution
    count = len(pool.instances)
    busy = [i.execution for i in pool.instances if i.execution is not None]
    return f"{counted(count, 'instance')}, all busy", busy[0] if busy else None


def lacks_resources(pool: InstanceQueue) -> Sequence[RunningInstance]:
    """Return the executions that hold resources which free instances need."""
    if all(instance.execution is not None for instance in pool.instances):
        return []
    return pool.resource_holders()
