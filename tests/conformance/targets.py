"""The interface of servers under test, with requests and results as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
REPOSITORIES = Path(__file__).parents[1] / "repositories"
PATIENCE_S = 120.0


class Value(NamedTuple):
    """A tensor as it travels: any datatype, any shape, any bytes."""

    datatype: str
    shape: tuple[int, ...]
    data: bytes

    def plain(self) -> str | list[str]:
        """Return JSON values."""
        if self.datatype == "BYTES":
            try:
                return [each.decode() for each in elements(self.data)]
            except ValueError:
                pass
        return self.data.hex()


def elements(data: bytes) -> Iterator[bytes]:
    """Yield the elements of a BYTES tensor; a cut one is a ValueError."""
    position = 0
    while position < len(data):
        start = position + 4
        position = start + int.from_bytes(data[position:start], "little")
        if position > len(data):
            raise ValueError("an element is cut")
        yield data[start:position]


class Failure(NamedTuple):
    """An error as gRPC's client sees it: the status code's name, and the details."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One inference request; `inputs` is a sequence, so names may repeat.

    `deadline_s` is the client's time limit; on Triton it also ends a request that never
    receives a response.
    """

    model: str
    inputs: Sequence[tuple[str, Value]] = ()
    outputs: Sequence[str] = ()
    version: str = ""
    id: str = ""
    parameters: dict[str, bool | int | str] = field(default_factory=dict)
    deadline_s: float = PATIENCE_S


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: outputs in its order, or an error.

    `final` is the flag of a response of a stream; None if it has none.
    """

    outputs: dict[str, Value] = field(default_factory=dict)
    error: Failure | None = None
    final: bool | None = None

    def plain(self) -> dict:
        """Return this answer as JSON can keep it."""
        outputs = [
            [name, value.datatype, list(value.shape), value.plain()]
            for name, value in self.outputs.items()
        ]
        said = {} if self.final is None else {"final": self.final}
        error = list(self.error) if self.error else None
        return {"outputs": outputs, "error": error, **said}


class Target(Protocol):
    """A server under test.

    Texts are returned with the path of the repository replaced by ``<repo>``, and
    that of the server's own Python file by ``<backend>``, so that the answers of
    two targets can be compared byte for byte. `python` is the release that runs
    the models, such as ``3.11``.
    """

    name: str
    python: str

    def load(self, model: str) -> Failure | None:
        """Load a model folder of `REPOSITORIES`, unless it is loaded."""

    def unload(self, model: str, wait: bool = True) -> None:
        """Unload a model; and wait until its processes are gone."""

    def config(self, model: str) -> str:
        """Return the JSON text of a loaded model's normalised configuration."""

    def infer(self, request: Request) -> Answer:
        """Send one request and wait for its response."""

    def infer_together(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests at once and wait for all responses, in order."""

    def apart(self, requests: Sequence[Request], *models: str) -> list[Answer]:
        """Send requests, in order, to a server with only these models.

        It may end after refusing the request of a model.
        """

    def at_risk(self, work: Callable[[Any], T]) -> T:
        """Do something with a strict server that may die of it."""

    def stream(self, request: Request, cancel_after: int = 0) -> list[Answer]:
        """Send one request on a stream and collect all responses to it.

        A stream that does not end is an error at its end: of the client's deadline,
        or what the target says instead. `cancel_after` that many responses the
        client cancels; 0 for never.
        """

    def stream_together(self, requests: Sequence[Request]) -> list[list[Answer]]:
        """Send all requests, each on a stream of its own, without waiting."""

    def metrics(self) -> str:
        """Return the text of the server's metrics page."""

    def normalised(self, text: str) -> str:
        """Replace this target's own paths."""

    def close(self) -> None:
        """Stop the server; nothing is left running."""
