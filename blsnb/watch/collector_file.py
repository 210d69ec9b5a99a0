"""Read the file that the file exporter of an OpenTelemetry Collector writes."""

from __future__ import annotations

from pathlib import Path

from blsnb.errors import TraceFileError
from blsnb.files.read_budget import ReadLimitError
from blsnb.otlp.decoding import MAX_BODY_BYTES, decode_json
from blsnb.watch.store import SpanStore

_PIECE = 1 << 20


class CollectorFile:
    """A file of export requests in JSON, one a line, which may still grow.

    Parameters
    ----------
    path
        The file.
    store
        Keeps the spans.
    """

    def __init__(self, path: Path, store: SpanStore) -> None:
        self.path = path
        self._store = store
        self._at = 0
        self._rest = bytearray()
        self._in_long_line = False

    def read(self) -> bool:
        """Read the lines that were added; return whether there were any.

        A line without an end is kept until it is complete. A file that has become
        shorter, because the Collector began a new one, is read from its start.

        Raises
        ------
        OSError
            The file cannot be read.
        """
        before = self._at
        with self.path.open("rb") as file:
            if self.path.stat().st_size < self._at:
                self._at, before, self._in_long_line = 0, -1, False
                self._rest.clear()
            file.seek(self._at)
            while piece := file.read(_PIECE):
                self._at += len(piece)
                self._add(piece)
        return self._at != before

    def read_whole(self) -> None:
        """Read the file, whose last line may have no end.

        Raises
        ------
        OSError
            The file cannot be read.
        TraceFileError
            It has lines, and none of them is an export request.
        """
        self.read()
        if self._rest:
            line, self._rest = bytes(self._rest), bytearray()
            self._take(line)
        counts = self._store.counts
        if counts.skipped and not counts.received:
            raise TraceFileError(
                f"'{self.path}' has no OpenTelemetry spans in JSON; expected the file "
                "of a Collector's file exporter with format: json and no compression"
            )

    def _add(self, piece: bytes) -> None:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line
            self._rest.clear()
            if self._in_long_line:
                self._in_long_line = False
            elif whole.strip():
                self._take(whole)
        if self._in_long_line:
            return
        self._rest += rest
        if len(self._rest) > MAX_BODY_BYTES:
            self._rest.clear()
            self._in_long_line = True
            self._store.skip_line()

    def _take(self, line: bytes) -> None:
        try:
            decoded = decode_json(line)
        except (ReadLimitError, ValueError):
            self._store.skip_line()
        else:
            self._store.add(decoded.spans, decoded.rejected)
