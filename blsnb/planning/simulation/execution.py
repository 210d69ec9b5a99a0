"""An execution in simulated time: the steps of a behaviour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from blsnb.planning.simulation.behaviour import SAME_SEQUENCE, Step
from blsnb.planning.simulation.cores import Processors
from blsnb.planning.simulation.station import SimulatedRequest
from blsnb.planning.simulation.timeline import Action, Timeline
from blsnb.request_fields import RequestFields

_ENDED = 1 << 62
"""Number of read responses of a call that has ended."""

Received = Callable[[SimulatedRequest], None]


class World(Protocol):
    """Where executions take place: time, processors, and models to call."""

    timeline: Timeline
    cores: Processors

    def send(
        self,
        model: str,
        size: int,
        answered: Received,
        parent: SimulatedRequest | None = None,
        fields: RequestFields = ...,
        responded: Received | None = None,
    ) -> SimulatedRequest:
        """Send a request now."""

    def new_sequence(self) -> int:
        """Return a correlation id that no other sequence has."""


class SimulatedExecution:
    """Runs the steps of a behaviour.

    The error of a call ends it, as an exception of ``execute`` does.

    Parameters
    ----------
    requests
        The requests that are executed together; the first one makes the calls.
    freed
        Called when ``execute`` returns.
    ended
        Called at the end.
    """

    _waits: bool

    def __init__(
        self,
        world: World,
        requests: Sequence[SimulatedRequest],
        steps: tuple[Step, ...],
        freed: Action,
        ended: Action,
    ) -> None:
        self._world = world
        self._requests = requests
        self._steps = steps
        self._freed = freed
        self._ended = ended
        self._next = 0
        self._begun = 0
        self._read: dict[int, int] = {}
        """Number of received responses, by call."""
        self._sequences: dict[int | str, int] = {}
        self._error = ""
        self._woken = True
        """Whether another process wakes the one of the model, and not its own timer."""
        self._returned = False

    def advance(self) -> None:
        """Run steps until one takes time or waits for calls."""
        self._waits = False
        while self._next < len(self._steps):
            step = self._steps[self._next]
            if (step.after or step.reads) and not self._is_due(step):
                self._waits = True
                return
            if self._error:
                break
            self._next += 1
            if step.computing_ns:
                done = partial(self._computed, step)
                self._world.cores.compute(step.computing_ns, done, self._woken)
                self._woken = False
                return
            if step.waiting_ns:
                self._wait(step)
                return
            self._act(step)
        self._end()

    def _is_due(self, step: Step) -> bool:
        read = self._read
        for number in step.after:
            if read.get(number) != _ENDED:
                return False
        return not step.reads or all(
            read.get(number, 0) >= count for number, count in step.reads
        )

    def _computed(self, step: Step) -> None:
        if step.waiting_ns:
            self._wait(step)
        else:
            self._worked(step)

    def _wait(self, step: Step) -> None:
        self._woken = False
        self._world.timeline.after(step.waiting_ns, partial(self._worked, step))

    def _worked(self, step: Step) -> None:
        if step.sends or step.returns or step.model:
            self._act(step)
        self.advance()

    def _act(self, step: Step) -> None:
        if step.sends:
            self._respond(step.sends)
        if step.returns:
            self._return()
        if step.model:
            self._call(step)

    def _respond(self, count: int) -> None:
        now_ns = self._world.timeline.now_ns
        for _ in range(count):
            for request in self._requests:
                request.respond(now_ns)

    def _call(self, step: Step) -> None:
        number, self._begun = self._begun, self._begun + 1

        def received(_: SimulatedRequest) -> None:
            self._received(number, self._read.get(number, 0) + 1)

        def answered(request: SimulatedRequest) -> None:
            self._error = self._error or request.error
            self._received(number, _ENDED)

        fields = step.fields
        if fields.correlation_id:
            fields = self._in_sequence(fields)
        self._world.send(
            step.model, step.size, answered, self._requests[0], fields, received
        )

    def _received(self, number: int, count: int) -> None:
        self._read[number] = count
        if self._waits:
            self._woken = True
            self.advance()

    def _in_sequence(self, fields: RequestFields) -> RequestFields:
        """Return the fields of a call with the id of its sequence here."""
        observed = fields.correlation_id
        if observed == SAME_SEQUENCE:
            own = self._requests[0].fields
            return fields._replace(correlation_id=own.correlation_id, flags=own.flags)
        if observed not in self._sequences:
            self._sequences[observed] = self._world.new_sequence()
        return fields._replace(correlation_id=self._sequences[observed])

    def _return(self) -> None:
        if not self._returned:
            self._returned = True
            self._freed()

    def _end(self) -> None:
        for request in self._requests:
            request.error = request.error or self._error
        self._return()
        self._ended()
