"""The rows of a data set, whatever they are read from."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import Any

from blsnb.arguments import did_you_mean, path_of, plain, refuse
from blsnb.evaluation.plain import Row
from blsnb.evaluation.rows.arrow import arrow_records, batch_records, parquet_records
from blsnb.evaluation.rows.folder import folder_records
from blsnb.evaluation.rows.frames import pandas_records, polars_records
from blsnb.evaluation.rows.npz import npz_records
from blsnb.evaluation.rows.records import Records
from blsnb.evaluation.rows.saved_runs import LABELS, RecordedRequests, run_records
from blsnb.evaluation.rows.sequences import with_flags
from blsnb.results.run import Run
from blsnb.trace.files.run_file import SUFFIX

EXPECTED = (
    "an iterable of dicts such as {'INPUT': array, 'label': 3}, a DataFrame of pandas "
    "or polars, an Arrow table, the path of a .parquet, .npz or .blsrun file or of a "
    "recording, a pair (folder, loader), or runs"
)
_CORRELATION = (
    "expected the id of its sequence: a number from 1 to 2**64 - 1, or a non-empty "
    "string"
)
_PARQUET = (".parquet", ".pq")
_TABLES: dict[tuple[str, str], Callable[[Any], Records]] = {
    ("pandas", "DataFrame"): pandas_records,
    ("polars", "DataFrame"): polars_records,
    ("pyarrow", "Table"): arrow_records,
    ("pyarrow", "RecordBatch"): arrow_records,
    ("pyarrow", "RecordBatchReader"): batch_records,
}
"""Readers of tables by their class, since their packages may not be installed."""


class RowSource:
    """The rows of a data set: an iterable that never holds all of them.

    Parameters
    ----------
    records
        The rows as dicts.
    input_names
        Names of the model's inputs; other keys are labels.
    sequence
        Key that holds the correlation id of a row; None if rows form no sequences.
    """

    def __init__(
        self, records: Records, input_names: Collection[str], sequence: str | None
    ) -> None:
        self._records = records
        self._input_names = frozenset(input_names)
        self._sequence = sequence

    @property
    def total(self) -> int | None:
        """Number of rows; None if it is unknown."""
        return self._records.total

    def digest(self) -> str:
        """Return a digest of the data set; an empty string if it is unknown."""
        return self._records.digest()

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows from the first one.

        Raises
        ------
        TypeError
            A row is not a dict.
        ValueError
            The rows can be read only once, and were; or no key of the first row is an
            input.
        """
        rows = self._rows()
        return with_flags(rows) if self._sequence is not None else rows

    def _rows(self) -> Iterator[Row]:
        for number, record in enumerate(self._records.read()):
            if not number:
                self._check_names(record)
            yield self._row(number, record)

    def _row(self, number: int, record: Mapping[str, Any]) -> Row:
        inputs, rest = {}, {}
        for name, value in record.items():
            if name not in self._input_names:
                rest[name] = value
            elif value is not None:
                inputs[name] = value
        if self._sequence is None:
            return Row(number, inputs, rest)
        return Row(number, inputs, rest, self._correlation_id(number, record))

    def _correlation_id(self, number: int, record: Mapping[str, Any]) -> int | str:
        found = plain(record.get(str(self._sequence)))
        # A table has NaN where an id is missing, and then floats elsewhere.
        if found is None or (isinstance(found, float) and math.isnan(found)):
            raise ValueError(f"row {number} has no {self._sequence!r}; {_CORRELATION}")
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        # Triton takes 0 and "" for no sequence.
        if isinstance(found, int) and 0 < found < 2**64:
            return found
        if isinstance(found, str) and found:
            return found
        given = f"{self._sequence}={reprlib.repr(found)}"
        raise ValueError(f"row {number}: {given} is not valid; {_CORRELATION}")

    def _check_names(self, record: Mapping[str, Any]) -> None:
        known = sorted(self._input_names)
        if not record or not known or self._input_names.intersection(record):
            return
        if record.keys() == LABELS:
            # A recorded request without inputs, all of which are optional.
            return
        similar = (did_you_mean(str(name), known) for name in record)
        advice = next(filter(None, similar), "")
        found = ", ".join(repr(name) for name in record)
        expected = ", ".join(map(repr, known))
        raise ValueError(
            f"no key of the first row is an input of the model: found {found}; "
            f"expected {expected}. {advice}".rstrip()
        )


def row_source(
    anything: Any,
    input_names: Collection[str],
    *,
    sequence: str | None = None,
    model_name: str = "",
) -> RowSource:
    """Return the rows of whatever users have; rows are read when they are needed.

    A value that is None, or missing in a table, is left out of the inputs. Keys that
    are not names of inputs reach only metrics.

    Parameters
    ----------
    anything
        An iterable of dicts or runs; a DataFrame of pandas or polars; a
        ``pyarrow.Table``, ``RecordBatch`` or ``RecordBatchReader``; the path of a
        ``.parquet``, ``.npz`` or ``.blsrun`` file, or of a folder with Parquet files or
        a recording; a run; a pair of a folder and a function that loads a file.
    input_names
        Names of the model's inputs.
    sequence
        Key that holds the correlation id of a row. Rows of one sequence are next to
        each other.
    model_name
        Name of the model whose runs are rows, where runs are given; an empty string
        for all.

    Raises
    ------
    TypeError
        The rows have another type.
    ValueError
        A file has another format.
    ImportError
        A package that reads the rows is not installed.
    OSError
        A file cannot be opened.
    """
    if isinstance(anything, RowSource):
        return anything
    return RowSource(_records(anything, model_name), input_names, sequence)


def _records(anything: Any, model_name: str) -> Records:
    anything = plain(anything)
    if isinstance(anything, str | Path):
        return _file_records(path_of(rows=anything), model_name)
    if isinstance(anything, Run):
        return _iterable_records([anything], model_name)
    for kind in type(anything).__mro__:
        read = _TABLES.get((kind.__module__.partition(".")[0], kind.__name__))
        if read is not None:
            return read(anything)
    if type(anything).__name__ == "NpzFile" and hasattr(anything, "zip"):
        return npz_records(Path(anything.zip.filename))
    if isinstance(anything, tuple) and len(anything) == 2 and callable(anything[1]):
        return folder_records(path_of(folder=anything[0]), anything[1])
    if isinstance(anything, Mapping):
        raise TypeError(
            "rows is a dict; expected several rows: [rows] for one, or for a dict of "
            "columns pandas.DataFrame(rows)"
        )
    if isinstance(anything, bytes) or not isinstance(anything, Iterable):
        refuse("rows", anything, EXPECTED)
    return _iterable_records(anything, model_name)


def _file_records(path: Path, model_name: str) -> Records:
    if path.is_dir():
        return _folder_records(path, model_name)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path)!r} of rows")
    match path.suffix.lower():
        case ".parquet" | ".pq":
            return parquet_records([path])
        case ".npz":
            return npz_records(path)
        case ".blsrun":
            return run_records([path], model_name)
    raise ValueError(
        f"{str(path)!r} has no rows in a known format; expected .parquet, .npz or "
        ".blsrun; read others yourself, such as with pandas.read_csv"
    )


def _folder_records(folder: Path, model_name: str) -> Records:
    files = sorted(folder.iterdir())
    tables = [path for path in files if path.suffix.lower() in _PARQUET]
    if tables:
        return parquet_records(tables)
    runs = [path for path in files if path.suffix == SUFFIX]
    if runs:
        return run_records(runs, model_name)
    raise ValueError(
        f"the folder {str(folder)!r} has neither .parquet files nor a recording; for "
        "other files pass a pair (folder, loader), where loader(path) returns a dict"
    )


def _iterable_records(rows: Iterable[Any], model_name: str) -> Records:
    total = len(rows) if isinstance(rows, Sized) else None
    started = False

    def read() -> Iterator[Mapping[str, Any]]:
        nonlocal started
        found = iter(rows)
        if found is rows and started:
            raise ValueError(
                "the rows were read before, and a generator has them only once; pass "
                "a list, or a new generator"
            )
        started = True
        requests = RecordedRequests()
        for number, row in enumerate(found):
            if isinstance(row, Mapping):
                yield row
            elif not isinstance(row, Run):
                refuse(f"rows[{number}]", row, "a dict such as {'INPUT': array}")
            elif model_name in ("", row.model_name):
                yield from requests.record(row)
        requests.end()

    return Records(read, total)
