"""What an ensemble asks for and answers while one request of it runs."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from blsnb.engine.scheduling.ensembles.plan import PlannedStep
from blsnb.tensors.dtypes import Shape

V = TypeVar("V")


class Held(NamedTuple, Generic[V]):
    """A tensor that exists; nothing of it matters here but its shape.

    Parameters
    ----------
    shape
        Batch axis included.
    """

    value: V
    shape: Shape


class Passed(NamedTuple, Generic[V]):
    """A tensor on its way: its value is to be seen with this shape."""

    name: str
    value: V
    shape: Shape


class Sequence(NamedTuple):
    """The sequence fields of a request, or of a response that overwrites them."""

    correlation_id: int | str = 0
    start: bool = False
    end: bool = False


class StepCall(NamedTuple, Generic[V]):
    """One request to the model of a step.

    Its id, priority, timeout and parameters are those of the ensemble's request, and
    the outputs that it wants are those of the step's map.

    Parameters
    ----------
    iteration
        Which response of a decoupled step before it this belongs to, from 0.
    inputs
        By the names that the model has, sorted.
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
        In Triton's order. The shape is the one after the output's ``reshape``.
    parameters
        Names may come several times: three parameters for each output.
    """

    outputs: tuple[Passed[V], ...]
    parameters: tuple[tuple[str, int | str | bool], ...] = ()


class EnsembleError(NamedTuple):
    """An error: Triton's text, and its name of the code."""

    message: str
    code: str = "INVALID_ARG"


class Progress(NamedTuple, Generic[V]):
    """What follows from what happened.

    Parameters
    ----------
    calls
        To be started, in this order; each is to be reported by `EnsembleRun.take`,
        or by `EnsembleRun.drop` if it is not started any more.
    response, error
        To be answered now, one of them or none.
    final
        Whether this ends the answers; alone, it is the flag without a response.
    """

    calls: tuple[StepCall[V], ...] = ()
    response: EnsembleResponse[V] | None = None
    error: EnsembleError | None = None
    final: bool = False
