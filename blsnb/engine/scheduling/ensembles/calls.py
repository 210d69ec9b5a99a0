"""Values between an ensemble's run and its driver: step requests and responses."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from blsnb.engine.scheduling.ensembles.plan import PlannedStep
from blsnb.tensors.dtypes import Shape

V = TypeVar("V")


class Held(NamedTuple, Generic[V]):
    """An opaque tensor value and its shape, including the batch axis."""

    value: V
    shape: Shape


class Passed(NamedTuple, Generic[V]):
    """A tensor that is sent under another name and in another shape."""

    name: str
    value: V
    shape: Shape


class Sequence(NamedTuple):
    """Sequence fields of a request, or of a response that overrides them."""

    correlation_id: int | str = 0
    flags: int = 0


class StepCall(NamedTuple, Generic[V]):
    """A request to the model of a step.

    Request id, priority, timeout and parameters are those of the ensemble's request;
    the requested outputs are those of the step's ``output_map``.

    Parameters
    ----------
    iteration
        Number of the response of an earlier decoupled step that it processes.
    inputs
        Sorted by the model's names.
    """

    step: PlannedStep
    iteration: int
    inputs: tuple[Passed[V], ...]
    sequence: Sequence


class EnsembleResponse(NamedTuple, Generic[V]):
    """A response of the ensemble.

    Parameters
    ----------
    outputs
        In Triton's order, with shapes after ``reshape``.
    parameters
        Three for each output, so that names repeat.
    """

    outputs: tuple[Passed[V], ...]
    parameters: tuple[tuple[str, int | str | bool], ...] = ()


class EnsembleError(NamedTuple):
    """Triton's text and code of an error."""

    message: str
    code: str = "INVALID_ARG"


class EnsembleProgress(NamedTuple, Generic[V]):
    """What to do next.

    Parameters
    ----------
    calls
        Requests to start in this order; each is reported by `EnsembleRun.take`, or
        by `EnsembleRun.drop` if it is no longer started.
    response, error
        At most one of them, to send now.
    final
        Whether this is the last response; alone, a final flag without a response.
    """

    calls: tuple[StepCall[V], ...] = ()
    response: EnsembleResponse[V] | None = None
    error: EnsembleError | None = None
    final: bool = False
