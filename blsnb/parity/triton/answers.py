"""Answers: what one server gave to one request, as values that compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from blsnb.run import Run
from blsnb.tensors.ref import TensorRef

WOULD_HANG = "WouldHang"
"""The code of a request that Triton would never answer."""
NO_ANSWER = "no answer"
"""The code of a request that was waited for long enough."""


class Failure(NamedTuple):
    """An error as the client meets it."""

    code: str
    """Triton's name of the code; empty where a stream has carried none."""
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One response: outputs, or an error.

    Parameters
    ----------
    final
        Whether it is the last one.
    at_ns
        When it came, after the request was sent.
    """

    outputs: tuple[TensorRef, ...] = ()
    failure: Failure | None = None
    final: bool = True
    at_ns: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same response wherever it comes in a stream."""
        outputs = tuple(
            (ref.name, ref.dtype.datatype, ref.shape, bytes(ref.data or b""))
            for ref in self.outputs
        )
        return outputs, self.failure and self.failure.text


@dataclass(frozen=True, slots=True)
class Answers:
    """All responses to one request, in their order.

    Parameters
    ----------
    took_ns
        From the request to its last response.
    began_ns
        When the request was sent, by the monotonic clock.
    run
        What is known of its calls; None if nothing is.
    """

    responses: tuple[Answer, ...]
    took_ns: int
    began_ns: int = 0
    run: Run | None = None

    def __repr__(self) -> str:
        count = len(self.responses)
        plural = "" if count == 1 else "s"
        return f"<{count} response{plural} in {self.took_ns / 1e6:.3g} ms>"

    @property
    def failure(self) -> Failure | None:
        """The first error among the responses."""
        failures = (answer.failure for answer in self.responses)
        return next((each for each in failures if each is not None), None)
