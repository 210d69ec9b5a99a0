"""The requests of a real server, received or read, as runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blsnb.engine.threads.watcher import Watcher
from blsnb.errors import TraceError
from blsnb.otlp.assembly import Outline
from blsnb.printable import printable
from blsnb.results.run import ImportedRun, Run
from blsnb.watch.collector_file import CollectorFile
from blsnb.watch.listing import Filter, Listing, listing, table
from blsnb.watch.receiver import LOOPBACK, PORT, Receiver
from blsnb.watch.store import SpanStore

INTERVAL_S = 0.5
_END_S = 2.0
_MAX_SHOWN = 20
_log = logging.getLogger(__name__)
BATCH_DELAY_MS = 500
"""Time after which a server sends its spans, in milliseconds; Triton's own is 5,000."""


class Watch:
    """Requests of a real server, until it is closed.

    Display it for a live list, in which a click opens a request's view. `runs` and
    `run` give requests as runs, which can be saved and compared like others.

    Parameters
    ----------
    source
        The receiver of spans, or a Collector's file.
    store
        The spans that the source keeps.
    """

    def __init__(self, source: Receiver | CollectorFile, store: SpanStore) -> None:
        self._source = source
        self._store = store
        self._watcher: Watcher | None = None
        self._changed: Callable[[], None] = lambda: None
        self._list: Any = None
        self.filter = Filter()
        """Which requests `requests` and `runs` contain."""
        self.closed = False

    def __repr__(self) -> str:
        source = self._source
        name = str(source.path) if isinstance(source, CollectorFile) else repr(source)
        state = ", closed" if self.closed else ""
        return printable(f"<Watch of {name}{state}: {self._store.counts}>")

    def __str__(self) -> str:
        found = self.listing()
        lines = [str(found), *table(found.requests[:_MAX_SHOWN]), str(self.counts)]
        return "\n".join(lines)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.widget()._repr_mimebundle_(**options)

    @property
    def counts(self) -> Any:
        """Numbers of spans received, kept and dropped."""
        return self._store.counts

    @property
    def receiver(self) -> Receiver | None:
        """The receiver; None for a file."""
        return self._source if isinstance(self._source, Receiver) else None

    @property
    def requests(self) -> list[Outline]:
        """The requests that `filter` accepts, newest first."""
        return list(self.listing().requests)

    @property
    def runs(self) -> list[Run]:
        """The requests that `filter` accepts as runs, newest first."""
        found = (self._store.trace(each.run_id) for each in self.requests)
        return [ImportedRun(trace) for trace in found if trace is not None]

    def run(self, request_id: str) -> Run:
        """Return the newest request with an id, as a run.

        Parameters
        ----------
        request_id
            The id that the client gave the request, or the ``run_id`` of one of
            `requests`.

        Raises
        ------
        TraceError
            There is no such request, or it is no longer kept.
        """
        for each in sorted(self._store.outlines(), key=lambda each: -each.start_ns):
            if request_id in (each.request_id, each.run_id):
                trace = self._store.trace(each.run_id)
                if trace is not None:
                    return ImportedRun(trace)
        raise TraceError(
            f"no request with id {request_id!r} was received, or it is no longer kept "
            f"({self._store.counts})"
        )

    def listing(self, chosen: Filter | None = None) -> Listing:
        """Return the requests that a filter accepts; `filter` if None."""
        now_ns = None if self.receiver is None else time.time_ns()
        outlines = self._store.outlines()
        return listing(outlines, self.filter if chosen is None else chosen, now_ns)

    def widget(self) -> Any:
        """Return the live list, always the same one, and start refreshing it."""
        from blsnb.views.live.request_list import RequestList

        if self._list is None:
            self._list = RequestList(self._rows, self._document)
            self.on_change(self._list.refresh)
        return self._list

    def _rows(
        self, model: str, request_id: str, slower_than_ms: float, by_time: bool
    ) -> tuple[str, str, list[tuple[str, str]]]:
        """Return the summary, the head and the rows of the live list."""
        found = self.listing(Filter(model, request_id, slower_than_ms))
        shown = (found.slowest_first() if by_time else found).requests[:_MAX_SHOWN]
        head, *lines = table(shown)
        rows = [(o.run_id, line) for o, line in zip(shown, lines, strict=True)]
        return f"{found}. {self.counts}.", head, rows

    def _document(self, run_id: str) -> dict[str, Any]:
        from blsnb.views.documents import document

        trace = self._store.trace(run_id)
        if trace is None:
            return {"text/plain": "This request is no longer kept."}
        return dict(document.mimebundle(trace))

    def on_change(self, call: Callable[[], None]) -> None:
        """Call a function every half second, on a thread, until it is closed."""
        self._changed = call
        if self._watcher is None and not self.closed:
            watcher = Watcher(self._look, INTERVAL_S, "blsnb watch list")
            watcher.start()
            self._watcher = watcher

    def _look(self) -> None:
        try:
            if isinstance(self._source, CollectorFile):
                self._source.read()
            self._changed()
        except Exception:
            _log.exception("the list of requests could not be refreshed")

    def close(self) -> None:
        """Receive nothing more; what was received stays readable."""
        self.closed = True
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(_END_S)
        if self.receiver is not None:
            self.receiver.close()
        if self._list is not None:
            self._list.end()


def receive(host: str = LOOPBACK, port: int = PORT) -> Watch:
    """Start to receive spans of real servers.

    Raises
    ------
    OSError
        The port is not available.
    """
    store = SpanStore()
    return Watch(Receiver(store, host, port), store)


def read(path: Path) -> Watch:
    """Read the requests in the file of an OpenTelemetry Collector.

    Raises
    ------
    OSError
        The file cannot be read.
    TraceFileError
        It has no spans.
    """
    store = SpanStore()
    file = CollectorFile(path, store)
    file.read_whole()
    return Watch(file, store)


def server_flags(url: str) -> list[str]:
    """Return the arguments with which a Triton server sends its spans to a URL."""
    settings = (
        "mode=opentelemetry",
        "rate=1",
        "level=TIMESTAMPS",
        f"opentelemetry,url={url}",
        f"opentelemetry,bsp_schedule_delay={BATCH_DELAY_MS}",
    )
    return [f"--trace-config={setting}" for setting in settings]
