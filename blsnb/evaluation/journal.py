"""A file of results from which an evaluation continues.

Results are appended in chunks with checksums, as in a run file. A process that is
killed loses at most the results that it was writing; nothing is unpickled.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from blsnb.arguments import path_of
from blsnb.evaluation.identity import difference, digest_of_inputs
from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.stored_results import PackedResults, row_numbers, unpacked
from blsnb.evaluation.work.chunks import whole_sequences
from blsnb.trace.files.checked import Malformed
from blsnb.trace.files.v2.chunks import (
    ChunkReader,
    DamagedChunk,
    FileChunk,
    LargeChunk,
    json_pieces,
    packed,
    parsed,
)

MAGIC = b"\x89BLSEVL\n"
_HEADER = "EVHD"
_ROWS = "ROWS"
Finished = Callable[[Row, RowResult], None]


class Journal:
    """Stored results of an evaluation, to which new ones are appended.

    Parameters
    ----------
    path
        The file; made if it does not exist.
    header
        The models, options and data set of the evaluation, as JSON.
    folders
        Folders of the models by name. Error texts are stored without them, since they
        differ between sessions.

    Raises
    ------
    ValueError
        It is another kind of file, has results of another evaluation, or is
        in use.
    OSError
        The file cannot be opened or written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        folders: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.path = path_of(resume=path)
        self._folders = {f"{folders[name]}/": f"<{name}>/" for name in folders}
        self._digests: dict[int, str] = {}
        self._file = open_for_append(self.path)
        try:
            self._lock()
            self._read(dict(header))
        except (Malformed, RecursionError, LargeChunk):
            self._file.close()
            raise self._foreign() from None
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; another evaluation may use it."""
        self._file.close()

    @property
    def done(self) -> Mapping[int, RowResult]:
        """Results of earlier evaluations by row number, read when they are needed."""
        return self._done

    def to_execute(self, rows: Iterable[Row], finished: Finished) -> Iterator[Row]:
        """Yield the rows without a stored result.

        A sequence is executed again from its start unless all of its rows have one.

        Parameters
        ----------
        rows
            All rows of the data set.
        finished
            Called with each other row and its stored result.

        Raises
        ------
        ValueError
            The inputs of a row are not those of its stored result.
        """
        for together in whole_sequences(rows):
            digests = [self._checked(row) for row in together]
            if all(row.number in self._done for row in together):
                for row in together:
                    finished(row, self._done[row.number])
                continue
            for row, digest in zip(together, digests, strict=True):
                self._digests[row.number] = digest
                yield row

    def stored(self, results: Iterable[list[RowResult]]) -> Iterator[list[RowResult]]:
        """Yield the results of chunks, each once it is stored."""
        for each in results:
            self.append(each)
            yield each

    def append(self, results: Iterable[RowResult]) -> None:
        """Store results; when the call returns they survive the end of the process.

        Raises
        ------
        OSError
            They cannot be written; the file is as before.
        """
        stored = PackedResults()
        for result in results:
            error = result.error
            for folder, mark in self._folders.items():
                error = error.replace(folder, mark)
            digest = self._digests.pop(result.number, "")
            stored.add(replace(result, error=error), digest)
        if stored.rows:
            self._write(_ROWS, stored.rows, stored.body)

    def _checked(self, row: Row) -> str:
        digest = digest_of_inputs(row.inputs)
        known = self._done.digest(row.number)
        if known not in (None, digest):
            raise ValueError(
                f"{str(self.path)!r} has a result of row {row.number} with other "
                "inputs: the rows, or their order, have changed. Resume with another "
                "file, or delete this one"
            )
        return digest

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{str(self.path)!r} is in use by another evaluation; wait for it, or "
                "resume with another file"
            ) from None
        except OSError:
            # The file system has no locks.
            return

    def _foreign(self) -> ValueError:
        return ValueError(
            f"{str(self.path)!r} is not a file that evaluate(resume=...) wrote"
        )

    def _read(self, header: dict[str, Any]) -> None:
        """Index the results of the file, and cut off what is incomplete."""
        size = os.fstat(self._file.fileno()).st_size
        self._file.seek(0)
        head = self._file.read(len(MAGIC))
        if not MAGIC.startswith(head):
            raise self._foreign()
        reader = ChunkReader(self._file, size)
        self._done = _StoredResults(self._file, self._folders)
        self._count = 0
        end = 0
        for chunk in _whole_chunks(reader):
            if not self._count:
                self._check_header(header, chunk)
            elif chunk.type == _ROWS:
                self._done.index(chunk, self._count, end)
            self._count += 1
            end = reader.offset
        self._end = end
        self._file.truncate(end)
        if not end:
            self._write(_HEADER, header, before=MAGIC)

    def _check_header(self, header: dict[str, Any], chunk: FileChunk) -> None:
        found = parsed(b"".join(json_pieces(chunk)))
        if chunk.type != _HEADER or not isinstance(found, dict):
            raise Malformed("no header of an evaluation")
        changed = difference(found, header)
        if changed:
            raise ValueError(
                f"{str(self.path)!r} has results of another evaluation: {changed}. "
                "Resume with another file, or delete this one"
            )

    def _write(
        self, kind: str, value: Any, body: Iterable[Any] = (), before: bytes = b""
    ) -> None:
        data = b"".join((before, *packed(kind, self._count, value, list(body))))
        left = memoryview(data)
        try:
            self._file.seek(self._end)
            while left:
                left = left[self._file.write(left) :]
        except BaseException as error:
            # Ctrl-C or a full disk: later results must follow a whole chunk.
            self._file.truncate(self._end)
            if isinstance(error, OSError):
                error.filename = str(self.path)
            raise
        self._end += len(data)
        self._count += 1


class _StoredResults(Mapping[int, RowResult]):
    """Results by row number, of which one chunk is in memory."""

    def __init__(self, file: BinaryIO, folders: Mapping[str, str]) -> None:
        self._file = file
        self._folders = folders
        self._places: dict[int, tuple[int, int]] = {}
        self._digests: dict[int, str] = {}
        self._loaded: dict[int, RowResult] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def digest(self, number: int) -> str | None:
        """Return the digest of a row's inputs; None without a result."""
        return self._digests.get(number)

    def index(self, chunk: FileChunk, count: int, offset: int) -> None:
        """Note the rows of a chunk, with its number and its position."""
        for number, digest in row_numbers(_json(chunk)):
            self._places[number] = count, offset
            self._digests[number] = digest

    def __getitem__(self, number: int) -> RowResult:
        if number not in self._loaded:
            count, offset = self._places[number]
            size = os.fstat(self._file.fileno()).st_size
            self._file.seek(offset)
            chunk = ChunkReader(self._file, size, count, offset).read()
            if chunk is None:
                raise KeyError(number)
            results = unpacked(_json(chunk), chunk.body)
            for result in results:
                for folder, mark in self._folders.items():
                    result.error = result.error.replace(mark, folder)
            self._loaded = {result.number: result for result in results}
        return self._loaded[number]


def open_for_append(path: Path) -> BinaryIO:
    """Open a file to read and write, unbuffered; create it if missing."""
    path.touch()
    return path.open("r+b", buffering=0)


def _json(chunk: FileChunk) -> Any:
    return parsed(b"".join(json_pieces(chunk)))


def _whole_chunks(reader: ChunkReader) -> Iterator[FileChunk]:
    """Yield chunks up to the first damaged or incomplete one."""
    while True:
        try:
            chunk = reader.read()
        except DamagedChunk:
            return
        if chunk is None:
            return
        yield chunk
