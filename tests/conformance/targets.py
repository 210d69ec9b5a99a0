"""What a conformance case may ask of a server, and what it gets: plain values."""

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
        """Return readable texts where there are some, else hexadecimal digits."""
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

    `deadline_s` is how long the client waits: on Triton it is also what ends a
    request that is never answered.
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
    """What came back: outputs in the order of the reply, or an error.

    `final` is what a stream's response says of itself, if it says anything.
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

    Texts come back with the path of the repository replaced by ``<repo>``, and
    that of the server's own Python file by ``<backend>``, so that the answers of
    two targets can be compared byte for byte. `python` is the release that runs
    the models, such as ``3.11``.
    """

    name: str
    python: str

    def load(self, model: str) -> Failure | None:
        """Load a model folder of `REPOSITORIES`; nothing happens if it is loaded."""

    def unload(self, model: str, wait: bool = True) -> None:
        """Unload a model; and wait until its processes are gone."""

    def config(self, model: str) -> str:
        """Return the JSON text of a loaded model's normalised configuration."""

    def infer(self, request: Request) -> Answer:
        """Send one request and wait for its answer."""

    def infer_together(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests at once and wait for all answers, in order."""

    def apart(self, requests: Sequence[Request], *models: str) -> list[Answer]:
        """Send requests, in order, to a server that has these models' folders.

        It may die of them: after it has refused something that a model asked for.
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
        """Replace this target's own paths, as said above."""

    def close(self) -> None:
        """Stop the server; nothing is left running."""
