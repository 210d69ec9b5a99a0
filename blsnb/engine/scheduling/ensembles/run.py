"""One request of an ensemble, from its inputs to its last response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic

from blsnb.engine.scheduling.ensembles.calls import (
    EnsembleError,
    EnsembleProgress,
    EnsembleResponse,
    Held,
    Passed,
    Sequence,
    StepCall,
    V,
)
from blsnb.engine.scheduling.ensembles.plan import EnsemblePlan, PlannedStep, converted
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START

_DEADLOCK = (
    "unexpected deadlock, at least one output is not set while no more ensemble steps "
    "can be made"
)


@dataclass(slots=True)
class _Entry(Generic[V]):
    """A tensor of one iteration; None if a step or the client omitted it."""

    held: Held[V] | None
    users: int
    sequence: Sequence | None = None


@dataclass(slots=True)
class _Tensor(Generic[V]):
    """A tensor of the ensemble, by iteration."""

    users: int
    entries: dict[int, _Entry[V]] = field(default_factory=dict)
    made: int = 0
    batch_size: int = 0

    def add(self, held: Held[V] | None, sequence: Sequence | None = None) -> int:
        """Add the tensor of the next iteration; return its number."""
        if self.users:
            self.entries[self.made] = _Entry(held, self.users, sequence)
        self.made += 1
        return self.made - 1

    def release(self, iteration: int) -> None:
        """Release one use of a tensor; delete it after the last."""
        entry = self.entries[iteration]
        entry.users -= 1
        if entry.users == 0:
            del self.entries[iteration]


_Updated = Iterable[tuple[str, int]]


class EnsembleRun(Generic[V]):
    """State of one request of an ensemble. Not thread-safe.

    Parameters
    ----------
    outputs
        The requested outputs.
    inputs
        The client's inputs, shaped as after ``reshape``.
    batch_size
        The request's; 0 if the ensemble does not batch.
    prefix
        Beginning of texts about the request: ``[request id: …] ``.
    refuse
        Validates a call before it is queued.
    waits_with_errors
        Whether an error is sent only when no step runs any more.

    References
    ----------
    core: src/ensemble_scheduler/ensemble_scheduler.cc, EnsembleContext
    """

    def __init__(
        self,
        plan: EnsemblePlan,
        inputs: Mapping[str, Held[V]],
        outputs: Iterable[str],
        *,
        batch_size: int = 0,
        prefix: str = "[request id: <id_unknown>] ",
        sequence: Sequence = Sequence(),  # noqa: B008 - it is frozen
        refuse: Callable[[StepCall[V]], EnsembleError | None] = lambda call: None,
        waits_with_errors: bool = True,
    ) -> None:
        self._plan = plan
        self._wanted = frozenset(outputs)
        self._batch_size = batch_size
        self._prefix = prefix
        self._sequence = sequence
        self._refuse = refuse
        self._waits_with_errors = waits_with_errors
        self._consumers = plan.consumers(self._wanted)
        self._tensors: dict[str, _Tensor[V]] = {
            name: _Tensor(len(steps) + (name in self._wanted))
            for name, steps in self._consumers.items()
        }
        self._put(inputs)
        self._error: EnsembleError | None = None
        self._responded = False
        self._over = False
        self.in_flight = 0
        """Number of calls that are neither done nor dropped."""

    def _put(self, inputs: Mapping[str, Held[V]]) -> None:
        given: dict[str, Held[V] | None] = dict(inputs)
        for name in self._plan.optional_inputs:
            given.setdefault(name, None)
        for name, held in given.items():
            self._tensors[name].add(held)
            self._tensors[name].batch_size = self._batch_size

    @property
    def failed(self) -> bool:
        """Whether calls that have not started are to be dropped."""
        return self._error is not None

    def start(self) -> EnsembleProgress[V]:
        """Return what to do first."""
        return self._advance(
            [(name, 0) for name, tensor in self._tensors.items() if tensor.entries]
        )

    def take(
        self,
        call: StepCall[V],
        outputs: Mapping[str, Held[V]] | None = None,
        *,
        error: EnsembleError | None = None,
        final: bool = True,
        sequence: Sequence | None = None,
    ) -> EnsembleProgress[V]:
        """Take a response of a step.

        Parameters
        ----------
        outputs
            By the model's names; unmapped ones are ignored, missing ones omitted.
            None for a final flag without a response.
        error
            Error of the response, or of the queue that refused the call.
        sequence
            Sequence fields in the response's parameters, if any.
        """
        self.in_flight -= final
        if error is not None:
            return self._fail(error)
        if outputs is None:
            return self._advance(())
        here = sequence or call.sequence
        # Triton drops start and end for an omitted output.
        absent = sequence or Sequence(call.sequence.correlation_id)
        updated = []
        for name, tensor in call.step.outputs.items():
            held = outputs.get(name)
            fields = absent if held is None else here
            updated.append((tensor, self._tensors[tensor].add(held, fields)))
        return self._advance(updated)

    def drop(self) -> EnsembleProgress[V]:
        """Drop a call that was not started because the run failed."""
        self.in_flight -= 1
        return self._finish()

    def _fail(self, error: EnsembleError) -> EnsembleProgress[V]:
        if self._error is None:
            text = self._plan.prefixed(error.message)
            self._error = error._replace(message=text)
        return self._finish()

    def _advance(self, updated: _Updated) -> EnsembleProgress[V]:
        if self._error is not None:
            return self._finish()
        calls = []
        for step, iteration in self._ready(updated):
            call = self._call(step, iteration)
            if (error := self._refuse(call)) is not None:
                # Other ready calls are not started either.
                return self._fail(error)
            self._taken(call)
            calls.append(call)
        self.in_flight += len(calls)
        return self._finish(tuple(calls), self._response(updated))

    def _ready(self, updated: _Updated) -> list[tuple[PlannedStep, int]]:
        steps = self._plan.steps
        found = {
            (index, iteration)
            for name, iteration in updated
            for index in self._consumers[name]
            if self._has_all(steps[index], iteration)
        }
        return [(steps[index], number) for index, number in sorted(found)]

    def _has_all(self, step: PlannedStep, iteration: int) -> bool:
        """Whether all inputs of a step are there."""
        for source in step.inputs.values():
            if iteration not in self._tensors[source].entries:
                return False
        return True

    def _call(self, step: PlannedStep, iteration: int) -> StepCall[V]:
        inputs, sequence = [], None
        for name, source in step.inputs.items():
            entry = self._tensors[source].entries[iteration]
            sequence = sequence or entry.sequence
            if entry.held is not None:
                shape = converted(
                    entry.held.shape,
                    self._plan.dims(step, name),
                    batching=self._plan.batches(step),
                    batch_size=self._tensors[source].batch_size,
                )
                inputs.append(Passed(name, entry.held.value, shape))
        return StepCall(step, iteration, tuple(inputs), sequence or self._sequence)

    def _taken(self, call: StepCall[V]) -> None:
        """Release the call's inputs, and note the batch size of its outputs."""
        for source in set(call.step.inputs.values()):
            self._tensors[source].release(call.iteration)
        has_batch = self._plan.batches(call.step) and call.inputs
        for name in call.step.outputs.values():
            self._tensors[name].batch_size = call.inputs[0].shape[0] if has_batch else 0

    def _response(self, updated: _Updated) -> EnsembleResponse[V] | None:
        """Return a response if the new tensors complete one."""
        wanted = [number for name, number in sorted(updated) if name in self._wanted]
        if not wanted or any(
            wanted[-1] not in self._tensors[name].entries for name in self._wanted
        ):
            return None
        outputs: list[Passed[V]] = []
        parameters: list[tuple[str, int | str | bool]] = []
        for name in self._plan.outputs:
            if name in self._wanted:
                self._answer(name, wanted[-1], outputs, parameters)
        return EnsembleResponse(tuple(outputs), tuple(parameters))

    def _answer(
        self,
        name: str,
        iteration: int,
        outputs: list[Passed[V]],
        parameters: list[tuple[str, int | str | bool]],
    ) -> None:
        tensor = self._tensors[name]
        entry = tensor.entries[iteration]
        if entry.held is None:
            return
        shape = converted(
            entry.held.shape,
            self._plan.outputs[name],
            batching=self._batch_size != 0,
            batch_size=tensor.batch_size,
        )
        outputs.append(Passed(name, entry.held.value, shape))
        if entry.sequence is not None:
            correlation_id, flags = entry.sequence
            parameters += [
                ("sequence_id", correlation_id),
                ("sequence_start", bool(flags & SEQUENCE_START)),
                ("sequence_end", bool(flags & SEQUENCE_END)),
            ]
        tensor.release(iteration)

    def _finish(
        self,
        calls: tuple[StepCall[V], ...] = (),
        response: EnsembleResponse[V] | None = None,
    ) -> EnsembleProgress[V]:
        if self._over:
            return EnsembleProgress()
        ended = self.in_flight == 0
        if self._error is not None:
            self._over = ended or not self._waits_with_errors
            error = self._error if self._over else None
            return EnsembleProgress(error=error, final=self._over)
        self._over = ended
        if response is None and ended and not (self._plan.decoupled or self._responded):
            text = self._plan.prefixed(f"{self._prefix}{_DEADLOCK}")
            self._error = EnsembleError(text)
            return EnsembleProgress(error=self._error, final=True)
        self._responded = self._responded or response is not None
        return EnsembleProgress(calls, response, final=ended)
