"""Actions of the panel on recorded runs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from blsnb.errors import BlsnbError
from blsnb.panel.host import Host
from blsnb.panel.run_rows import page_id_of
from blsnb.parts.server_parts import parts_of
from blsnb.results.run import Run
from blsnb.trace.comparison import AnyTrace
from blsnb.trace.run_record import RunRecord
from blsnb.trace.spans import Trace
from blsnb.views.documents import document
from blsnb.views.documents.buffer import Buffer
from blsnb.views.live.queries import Message, QueryError, invalid
from blsnb.views.summary import heading

_MAX_HTML = 8 << 20
"""Maximum number of characters of a page that is sent."""
_SUFFIX = ".blsrun"
DEBUG = "debug"
"""Name of the action that executes a run's call again on the main thread."""
REPLAY = "replay"
Action = Callable[[Host, RunRecord, Message, Buffer], Message]


def act_on_run(host: Host, query: Message, buffer: Buffer) -> Message:
    """Carry out an action on a run, and return the keys of its answer.

    Parameters
    ----------
    query
        ``name``: the action; ``run``: the page id of the run, empty for the newest
        one; ``baseline``: that of the run to compare with.
    buffer
        Receives the page that the action shows.

    Raises
    ------
    QueryError
        A run is not kept, or the action failed; its text says why.
    """
    record = _record(host, query, "run")
    try:
        return RUN_ACTIONS[query["name"]](host, record, query, buffer)
    except KeyboardInterrupt:
        raise QueryError("refused", "the run was interrupted") from None
    except (BlsnbError, OSError, ValueError) as error:
        raise QueryError("refused", str(error)) from error


def _record(host: Host, query: Message, key: str) -> RunRecord:
    name = query.get(key)
    if not isinstance(name, str):
        raise invalid(key, name, "the page id of a run, or empty for the newest one")
    for record in reversed(parts_of(host.server()).recorder.runs):
        page_id = page_id_of(record)
        if page_id and name in (page_id, ""):
            return record
    if not name:
        raise QueryError("gone", "no run has been recorded")
    raise QueryError("gone", "the run is no longer kept: keep_runs limits the runs")


def _run(host: Host, record: RunRecord) -> Run:
    return Run.of(record, parts_of(host.server()).requests)


def _shown(trace: AnyTrace, title: str, buffer: Buffer) -> Message:
    html = document.html(trace)
    if len(html) > _MAX_HTML:
        raise QueryError("refused", "the page of the run is too large: save the run")
    data = html.encode("utf-8", "backslashreplace")
    return {"page": {"title": title, "html": buffer.add(data)}}


def _view(host: Host, record: RunRecord, _: Message, buffer: Buffer) -> Message:
    run = _run(host, record)
    host.connect_run(run)
    return _shown(run.trace, f"{heading(run.trace)} · {record.id}", buffer)


def _compare(host: Host, record: RunRecord, query: Message, buffer: Buffer) -> Message:
    baseline = _run(host, _record(host, query, "baseline"))
    comparison = _run(host, record).compare(baseline)
    title = f"{record.id} against {baseline.id}"
    return _shown(comparison.trace, title, buffer)


def _replay(host: Host, record: RunRecord, _: Message, buffer: Buffer) -> Message:
    comparison = _run(host, record).replay()
    return _shown(comparison.trace, f"replay of {record.id}", buffer)


def _debug(host: Host, record: RunRecord, _: Message, buffer: Buffer) -> Message:
    run = _run(host, record)
    call = _first_python_call(run.trace)
    host.connect_run(run)
    return {"done": host.debug(page_id_of(record), call)}


def _first_python_call(trace: Trace) -> int:
    """Return the id of the first call that a Python model served."""
    for span in trace.spans:
        model = trace.models[span.model]
        if (model.kind, model.backend) == ("model", "python"):
            return span.id
    raise QueryError("refused", "no call of the run was served by a Python model")


def _pin(host: Host, record: RunRecord, _: Message, buffer: Buffer) -> Message:
    record.pinned = True
    return {"done": f"Run {record.id} is pinned: no limit drops it."}


def _unpin(host: Host, record: RunRecord, _: Message, buffer: Buffer) -> Message:
    record.pinned = False
    return {"done": f"Run {record.id} is no longer pinned."}


def _delete(host: Host, record: RunRecord, _: Message, buffer: Buffer) -> Message:
    parts_of(host.server()).recorder.remove(record)
    return {"done": f"Run {record.id} is deleted."}


def _save(host: Host, record: RunRecord, _: Message, buffer: Buffer) -> Message:
    """Save a run into the kernel's folder; an existing file stays."""
    run = _run(host, record)
    stem = f"{re.sub(r'[^-.0-9A-Za-z]', '_', run.model_name)}-{record.id}"
    numbers = itertools.chain([""], (f"-{n}" for n in itertools.count(2)))
    names = (f"{stem}{number}{_SUFFIX}" for number in numbers)
    free = next(name for name in names if not Path(name).exists())
    run.save(free)
    return {"done": f"Run {record.id} is saved as {free} in the kernel's folder."}


RUN_ACTIONS: Mapping[str, Action] = {
    "view": _view,
    "compare": _compare,
    REPLAY: _replay,
    DEBUG: _debug,
    "pin": _pin,
    "unpin": _unpin,
    "save": _save,
    "delete": _delete,
}
