"""What an execution of a model does, as it was once observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blsnb.request_fields import PLAIN, RequestFields

SAME_SEQUENCE = "same"
"""Correlation id of a call in the sequence of its caller's request."""


class Step(NamedTuple):
    """Own work of a model, up to its next call, its next response or its end.

    Parameters
    ----------
    after
        Numbers of the calls whose ends it waits for.
    computing_ns, waiting_ns
        Time on a processor, and time in which the model waits for anything but calls.
    model
        Name of the model that is then called; empty for no call. The next step begins
        at once: a synchronous call is one that it waits for.
    size
        Batch size of the call.
    fields
        Fields of the call. Calls with equal correlation ids are one sequence, which
        has a new id in each execution; see `SAME_SEQUENCE`.
    reads
        Calls of decoupled models, each with a number of responses: it waits for them.
    sends
        Number of responses that each request then receives.
    returns
        Whether ``execute`` then returns; later steps need no instance.
    """

    after: tuple[int, ...]
    computing_ns: int
    waiting_ns: int = 0
    model: str = ""
    size: int = 1
    fields: RequestFields = PLAIN
    reads: tuple[tuple[int, int], ...] = ()
    sends: int = 0
    returns: bool = False


class Behaviour(NamedTuple):
    """One execution, as steps; its calls are numbered in their order.

    Parameters
    ----------
    size
        Number of inferences: the sum of its requests' batch sizes.
    steps
        The last one ends the execution.
    """

    size: int
    steps: tuple[Step, ...]

    @property
    def own_ns(self) -> int:
        """Duration of its own work."""
        return sum(step.computing_ns + step.waiting_ns for step in self.steps)

    @property
    def computing_ns(self) -> int:
        """Processor time of its own work."""
        return sum(step.computing_ns for step in self.steps)

    def with_computing(self, ns: float) -> Behaviour:
        """Return the execution with this processor time within its own work."""
        share = min(1.0, ns / self.own_ns) if self.own_ns else 0.0
        steps = []
        for step in self.steps:
            own_ns = step.computing_ns + step.waiting_ns
            spent_ns = round(own_ns * share)
            steps.append(
                step._replace(computing_ns=spent_ns, waiting_ns=own_ns - spent_ns)
            )
        return Behaviour(self.size, tuple(steps))

    def longer(self, ns: float) -> Behaviour:
        """Return the execution with more own work, or less if negative.

        The time in which it waits changes, as its processor time was measured; if less
        is left than it computes, all becomes shorter.
        """
        own_ns = self.own_ns
        waiting_ns = own_ns - self.computing_ns
        if ns > 0 and own_ns:
            more = [step.computing_ns + step.waiting_ns for step in self.steps]
            share = ns / own_ns
        elif waiting_ns and waiting_ns + ns >= 0:
            more = [step.waiting_ns for step in self.steps]
            share = ns / waiting_ns
        else:
            factor = 1 + ns / own_ns if own_ns else 0.0
            return self.scaled(max(0.0, factor), self.size)
        steps = (
            step._replace(waiting_ns=step.waiting_ns + round(each * share))
            for step, each in zip(self.steps, more, strict=True)
        )
        return Behaviour(self.size, tuple(steps))

    def scaled(self, factor: float, size: int) -> Behaviour:
        """Return the execution with longer or shorter own work."""
        steps = tuple(
            step._replace(
                computing_ns=round(step.computing_ns * factor),
                waiting_ns=round(step.waiting_ns * factor),
            )
            for step in self.steps
        )
        return Behaviour(size, steps)


class ObservedCall(NamedTuple):
    """A call of an execution.

    Parameters
    ----------
    begin_ns, end_ns
        When it began and ended.
    responses_ns
        When a decoupled model sent responses.
    """

    begin_ns: int
    end_ns: int
    model: str
    size: int = 1
    fields: RequestFields = PLAIN
    responses_ns: tuple[int, ...] = ()


class Event(NamedTuple):
    """What an execution does at a time: it calls a model, responds or returns."""

    at_ns: int
    call: ObservedCall | None = None
    sends: int = 0
    returns: bool = False


def behaviour(
    start_ns: int,
    end_ns: int,
    calls: Sequence[ObservedCall | tuple[int, int, str, int]],
    size: int = 1,
    others: Sequence[Event] = (),
) -> Behaviour:
    """Return an observed execution, all of whose own work counts as computing.

    Parameters
    ----------
    start_ns, end_ns
        When it began and ended.
    others
        Its responses, and its return before the end.
    """
    began = sorted(ObservedCall(*call) for call in calls)
    events = [*(Event(call.begin_ns, call) for call in began), *others]
    events.sort(key=lambda event: event.at_ns)
    waits = _Waits(began)
    steps: list[Step] = []
    # Own work is what lies between events, less what it waits for.
    for event in [*events, Event(end_ns)]:
        after, reads, ready_ns = waits.until(event.at_ns)
        called = event.call or ObservedCall(0, 0, "")
        steps.append(
            Step(
                after,
                max(0, event.at_ns - max(start_ns, ready_ns)),
                0,
                called.model,
                called.size,
                called.fields,
                reads,
                event.sends,
                event.returns,
            )
        )
        start_ns = max(start_ns, event.at_ns)
    return Behaviour(size, tuple(steps))


class _Waits:
    """The calls that an execution has waited for."""

    def __init__(self, calls: Sequence[ObservedCall]) -> None:
        self._calls = calls
        self._ended: set[int] = set()
        self._read: dict[int, int] = {}

    def until(
        self, at_ns: int
    ) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], int]:
        """Return ends and responses since the last time, and when the last one was."""
        after, reads, ready_ns = [], [], 0
        for number, call in enumerate(self._calls):
            if number in self._ended or call.begin_ns >= min(at_ns, call.end_ns):
                continue
            if call.end_ns <= at_ns:
                self._ended.add(number)
                after.append(number)
                ready_ns = max(ready_ns, call.end_ns)
                continue
            sent = [ns for ns in call.responses_ns if ns <= at_ns]
            if len(sent) > self._read.get(number, 0):
                self._read[number] = len(sent)
                reads.append((number, len(sent)))
                ready_ns = max(ready_ns, sent[-1])
        return tuple(after), tuple(reads), ready_ns
