"""What an execution of a model does, as it was once observed."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """Own work of a model, up to its next call or its end.

    Parameters
    ----------
    after
        Numbers of the calls whose ends it waits for.
    computing_ns, waiting_ns
        Time on a processor, and time in which the model waits for anything but calls.
    model
        Name of the model that is then called; empty at the end. The next step begins
        at once: a synchronous call is one that it waits for.
    size
        Batch size of the call.
    """

    after: tuple[int, ...]
    computing_ns: int
    waiting_ns: int = 0
    model: str = ""
    size: int = 1


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


def behaviour(
    start_ns: int,
    end_ns: int,
    calls: list[tuple[int, int, str, int]],
    size: int = 1,
    computing_share: float = 1.0,
) -> Behaviour:
    """Return an observed execution.

    Parameters
    ----------
    start_ns, end_ns
        When it began and ended.
    calls
        Beginning, end, model and batch size of each call.
    computing_share
        Part of its own work that needs a processor.
    """
    steps: list[Step] = []
    began = sorted(calls)
    seen: set[int] = set()
    # Own work is what lies between the beginnings of calls, less what it waits for.
    for begin_ns, _, model, called in [*began, (end_ns, 0, "", 1)]:
        ended = {
            number
            for number, (begun_ns, until_ns, *_) in enumerate(began)
            if until_ns <= begin_ns and begun_ns < until_ns
        }
        after = tuple(sorted(ended - seen))
        seen |= ended
        from_ns = max([start_ns, *(began[number][1] for number in after)])
        own_ns = max(0, begin_ns - from_ns)
        computing_ns = round(own_ns * computing_share)
        steps.append(Step(after, computing_ns, own_ns - computing_ns, model, called))
        start_ns = max(start_ns, begin_ns)
    return Behaviour(size, tuple(steps))
