"""The panel of a kernel: the pages that are connected, and what they are shown."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from blsnb.engine.threads.watcher import Watcher
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.panel.changes import Rows
from blsnb.panel.connection import PanelConnection
from blsnb.panel.host import Host
from blsnb.panel.model_actions import LOAD, MODEL_ACTIONS, act_on_model, show_graph
from blsnb.panel.model_rows import ModelRows
from blsnb.panel.note_rows import NoteRows
from blsnb.panel.run_actions import DEBUG, REPLAY, RUN_ACTIONS, act_on_run
from blsnb.panel.run_rows import LogRows, RunRows
from blsnb.views.documents.buffer import Buffer
from blsnb.views.live.queries import Message, check

_LOOK_S = 0.1
_UNWATCHED_NS = 600_000_000_000
"""Time without a message of any page, after which looking pauses. A page sends none
while a cell runs."""
_END_S = 1.0
_log = logging.getLogger(__name__)

_GRAPH = "graph"
_ACTIONS = [*MODEL_ACTIONS, *RUN_ACTIONS, _GRAPH]
"""Names of the actions of this kernel."""


class Panel:
    """Answers the pages of a kernel, and shows them changes.

    A thread looks every 100 ms, as long as a page watches.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._models = ModelRows()
        self._runs = RunRows()
        self._logs = LogRows()
        self._notes = NoteRows()
        self._connections: dict[str, PanelConnection] = {}
        self._workers = Workers(1, "blsnb panel answers", keep_idle=1)
        self._models_workers = Workers(1, "blsnb panel models", keep_idle=1)
        self._watcher: Watcher | None = None
        self._watched_ns = 0

    def accept(self, comm: Any, message: Any) -> None:
        """Connect a page that opened a comm with its first message."""
        connection = PanelConnection(
            comm,
            _ACTIONS,
            self._answer,
            self._watch,
            self._workers.run,
            {
                DEBUG: self._host.on_main_thread,
                LOAD: self._run_model,
                REPLAY: self._run_model,
            },
        )
        self._connections[comm.comm_id] = connection
        comm.on_msg(lambda each: connection.receive(each["content"]["data"]))
        comm.on_close(lambda _: self._connections.pop(comm.comm_id, None))
        connection.receive(message)

    def close(self) -> None:
        """Close the comms of all pages, and end the threads."""
        for connection in list(self._connections.values()):
            connection.close()
        self._connections.clear()
        self._stop(_END_S)
        self._workers.shutdown(cancel_futures=True)
        self._models_workers.shutdown(cancel_futures=True)

    def _run_model(self, call: Callable[[], None]) -> None:
        """Call what runs code of models, which Ctrl-C has to end."""
        self._host.interruptibly(call, self._models_workers.run)

    def _answer(self, query: Message, buffer: Buffer) -> Message:
        check(query, "action")
        name = query.get("name")
        if name == _GRAPH:
            return show_graph(self._host, query, buffer)
        if name in RUN_ACTIONS:
            return act_on_run(self._host, query, buffer)
        return act_on_model(self._host, query)

    def _watch(self) -> None:
        """Look from now on; a page said what it watches."""
        self._watched_ns = time.monotonic_ns()
        if self._watcher is not None:
            return
        watcher = Watcher(self._look, _LOOK_S, "blsnb panel")
        try:
            watcher.start()
        except OutOfResourcesError as error:
            _log.warning("the panel shows no changes: %s", error.message)
            return
        self._watcher = watcher

    def _look(self) -> None:
        connections = list(self._connections.values())
        names = frozenset().union(*(each.watches for each in connections))
        if time.monotonic_ns() - self._watched_ns >= _UNWATCHED_NS:
            self._stop(0)
            return
        try:
            lists = self._read(names)
            for connection in connections:
                connection.show(lists)
        except Exception:
            _log.exception("the panel could not read the server")

    def _read(self, names: Collection[str]) -> dict[str, Rows]:
        """Return the rows of lists, by the name of the list."""
        parts = self._host.parts()
        found: dict[str, Rows] = {}
        if parts is None:
            return {name: {} for name in names}
        if "models" in names:
            found["models"] = self._models.read(parts)
        if "runs" in names:
            found["runs"] = self._runs.read(parts.recorder.runs)
        if "logs" in names:
            found["logs"] = self._logs.read(parts.log, parts.recorder.runs)
        if "notes" in names:
            found["notes"] = self._notes.read(parts.recorder.runs)
        return found

    def _stop(self, timeout_s: float) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(timeout_s)
