"""Values of an evaluation that its rooms and processes exchange; all can be pickled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol


class Row(NamedTuple):
    """One row of a data set.

    Parameters
    ----------
    number
        Position in the data set, from 0.
    inputs
        The model's inputs, as `blsnb.Server.infer` takes them.
    rest
        The other values of the row, such as labels: only metrics receive them.
    sequence
        Correlation id of the row's sequence; None for none.
    sequence_start, sequence_end
        Whether the row is the first, or the last, of its sequence.
    """

    number: int
    inputs: Mapping[str, Any]
    rest: Mapping[str, Any] = {}
    sequence: int | str | None = None
    sequence_start: bool = False
    sequence_end: bool = False

    def portable(self) -> Row:
        """Return the row without the values that only metrics receive."""
        return self._replace(rest={}) if self.rest else self


class Chunk(NamedTuple):
    """Rows that are executed together, at one place, in order.

    Parameters
    ----------
    number
        Position among the chunks, from 0.
    rows
        The rows; at least one.
    whole
        Whether the run of each row is returned, however fast and right it was.
    """

    number: int
    rows: tuple[Row, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """What a worker needs besides the models.

    Parameters
    ----------
    model_name
        The evaluated model.
    options
        Options of each request, as `blsnb.request_fields.RequestOptions`; without
        those of sequences, which come from the rows.
    batch
        Maximum number of rows stacked into one request; 1 for no batches.
    keep
        Number of whole runs kept for each reason: of the slowest rows, and of those
        that failed with the same text. 0 keeps none.
    """

    model_name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 1
    keep: int = 20


@dataclass(slots=True)
class RowResult:
    """What became of one row.

    Parameters
    ----------
    number
        Number of the row.
    outputs
        Arrays by name; lists of arrays for a decoupled model; empty if the row failed.
    error, code
        Triton's text and code of the failure; empty if the row succeeded.
    latency_us
        Time from the request to its last response, as its client sees it.
    queue_us
        Time of all calls of the run in the queues of their models.
    model_us
        Time of each model's own code by name, without the models that it calls.
    model_calls
        Number of calls of each model by name.
    run
        The whole run: a `blsnb.Run` within one process, the content of a ``.blsrun``
        file from other processes, None where it is not kept.
    """

    number: int
    outputs: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    code: str = ""
    latency_us: float = 0.0
    queue_us: float = 0.0
    model_us: dict[str, float] = field(default_factory=dict)
    model_calls: dict[str, int] = field(default_factory=dict)
    run: Any = None


class RowRunner(Protocol):
    """A place where rows are executed: this process, others, or a real server."""

    def results(self, chunks: Iterable[Chunk]) -> Iterator[list[RowResult]]:
        """Execute chunks, and yield the results of each, in order of completion.

        Chunks are taken from the iterable no faster than they are executed.
        """

    def close(self) -> None:
        """End the place with its processes and connections."""
