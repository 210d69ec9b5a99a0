"""The card of a model: name, state, inputs and outputs; and other tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.printable import in_columns, listed, printable_lines, shortened
from blsnb.repository.status import ModelStatus

if TYPE_CHECKING:
    from blsnb.repository.export import Exported

_BOX = (
    "display:inline-block;border:1px solid #8888;border-left:4px solid {colour};"
    "border-radius:4px;padding:4px 12px;font-size:13px;line-height:1.6"
)
_COLOURS = {True: "#12866a", False: "#b42318"}
_STANDIN_COLOUR = "#b54708"
_WAITING_COLOUR = "#8888"
_WAITING = "not loaded"
"""The state of files that do not form a complete model yet."""
_MAX_TENSORS = 8
_MAX_STEPS = 12
# JupyterLab aligns table cells to the right by default.
_LEFT = 'style="text-align:left"'


def bundle(status: ModelStatus, failure: str = "") -> dict[str, str]:
    """Return the card of a model as HTML and as text.

    Parameters
    ----------
    failure
        Why the last change failed, if a previous version may still serve.
    """
    return {"text/html": _html(status, failure), "text/plain": text(status, failure)}


def text(status: ModelStatus, failure: str = "") -> str:
    """Return the card as text: a line, the steps, and the warnings."""
    parts = [f"{status.name} {_state(status)}", _flow(status, "->")]
    parts += _facts(status)
    steps = [f"  {step}" for step in shortened(status.steps, _MAX_STEPS, "step")]
    lines = ["  ".join(filter(None, parts)), *steps, *_warnings(status, failure)]
    return printable_lines("\n".join(lines))


def _html(status: ModelStatus, failure: str) -> str:
    rows = [
        f"<b>{_escaped(status.name)}</b> {_escaped(_state(status))}",
        f"<code>{_escaped(_flow(status, '→'))}</code>",
        *(
            f"<code>{_escaped(step.replace(' -> ', ' → '))}</code>"
            for step in shortened(status.steps, _MAX_STEPS, "step")
        ),
        _escaped(" · ".join(_facts(status))),
        *map(_escaped, _warnings(status, failure)),
    ]
    shown = [row for row in rows if row not in ("", "<code></code>")]
    return _box(shown, _colour(status, failure))


def _box(rows: Iterable[str], colour: str) -> str:
    style = _BOX.format(colour=colour)
    inner = "".join(f"<div>{row}</div>" for row in rows)
    return f'<div class="blsnb-card" style="{style}">{inner}</div>'


def _colour(status: ModelStatus, failure: str) -> str:
    """Return the colour of a serving, a failed or an incomplete model."""
    good = status.state == "READY" and not failure
    if good and status.standin:
        return _STANDIN_COLOUR
    if status.state == _WAITING and not (failure or status.reason or status.findings):
        return _WAITING_COLOUR
    return _COLOURS[good]


def _state(status: ModelStatus) -> str:
    versions = ", ".join(map(str, status.versions))
    state = f"version {versions} {status.state}" if versions else status.state
    return f"{state}, stand-in: {status.standin}" if status.standin else state


def _flow(status: ModelStatus, arrow: str) -> str:
    if not status.inputs and not status.outputs:
        return ""
    return f"{_tensors(status.inputs)} {arrow} {_tensors(status.outputs)}"


def _tensors(specs: tuple[str, ...]) -> str:
    return listed(specs, _MAX_TENSORS) or "nothing"


def _facts(status: ModelStatus) -> list[str]:
    origin = [f"from {short_path(status.origin)}"] if status.origin else []
    if status.differs:
        origin.append(f"differs from {status.differs}")
    return [*_sizes(status), *origin, *_duration(status)]


def _sizes(status: ModelStatus) -> list[str]:
    facts = []
    if status.max_batch_size:
        facts.append(f"max batch size {status.max_batch_size}")
    if status.instance_count > 1:
        facts.append(f"{status.instance_count} instances")
    return facts


def _duration(status: ModelStatus) -> list[str]:
    return [f"loaded in {milliseconds(status.load_s)}"] if status.load_s else []


def milliseconds(seconds: float) -> str:
    """Format a duration: ``4.1 ms``, ``120 ms``, ``2.50 s``."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    digits = 0 if seconds >= 0.1 else 1
    return f"{seconds * 1e3:.{digits}f} ms"


def _warnings(status: ModelStatus, failure: str) -> list[str]:
    lines = []
    if failure and status.versions:
        lines.append(f"⚠ {failure}: the previous version still serves")
    elif reason := status.reason.strip() or failure:
        lines.append(f"⚠ {reason}")
    lines += status.what_helps().splitlines()
    lines += [
        f"⚠ {each}" for each in (*status.trouble, *status.running, *status.findings)
    ]
    if status.state == _WAITING and not lines:
        lines.append(f"%triton load {status.name} loads it")
    return lines


def notice(text: str) -> dict[str, str]:
    """Return a sentence on a model as HTML and as text."""
    return _lines([f"⚠ {text}"], _STANDIN_COLOUR)


def exported(done: Exported) -> dict[str, str]:
    """Return the card of an export: its folder, its models, its notes."""
    head = f"{len(done.models)} exported to {done.path}: {', '.join(done.models)}"
    notes = [f"⚠ {note}" for note in done.notes]
    readme = f"how to serve them: {done.path / 'README.md'}"
    return _lines([head, *notes, readme])


def written_back(done: Exported) -> dict[str, str]:
    """Return the card of an export in place: its models and notes."""
    head = "nothing to write: no cell differs from the folder of its model"
    if done.models:
        head = f"written to {done.path}: {', '.join(done.models)}"
    return _lines([head, *(f"⚠ {note}" for note in done.notes)])


def _lines(lines: list[str], colour: str = _COLOURS[True]) -> dict[str, str]:
    page = _box(map(_escaped, lines), colour)
    return {"text/html": page, "text/plain": printable_lines("\n".join(lines))}


def table(statuses: Iterable[ModelStatus]) -> dict[str, str]:
    """Return a table of models."""
    rows = [
        (
            status.name,
            ", ".join(map(str, status.versions)) or "-",
            f"{status.state}, stand-in" if status.standin else status.state,
            _origin(status),
            _flow(status, "→"),
            _more(status),
        )
        for status in statuses
    ]
    return grid(("model", "version", "state", "from", "inputs → outputs", ""), rows)


def _origin(status: ModelStatus) -> str:
    """Return where a model comes from, and the folder that it differs from."""
    origin = short_path(status.origin)
    if not status.differs:
        return origin
    folder = short_path(status.differs)
    return f"{origin}, differs from {folder}: %triton diff {status.name}"


def short_path(text: str) -> str:
    """Shorten an absolute path in the working or home directory; keep other text."""
    path = Path(text)
    if not path.is_absolute():
        return text
    with contextlib.suppress(OSError, ValueError):
        return str(path.relative_to(Path.cwd().resolve()))
    with contextlib.suppress(RuntimeError, ValueError):
        return f"~/{path.relative_to(Path.home())}"
    return text


def _more(status: ModelStatus) -> str:
    said = [
        *_sizes(status),
        *_duration(status),
        *status.trouble,
        *_reason(status),
        *status.running,
    ]
    return " · ".join(said)


def _reason(status: ModelStatus) -> list[str]:
    """Return the first line of a failure, what led to it, and the advice."""
    first = status.reason.strip().splitlines()[:1]
    # Those of a serving model are on its card.
    led = () if status.state == "READY" else status.findings
    return [*first, *led, *status.what_helps().splitlines()]


def grid(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """Return rows of texts as an HTML table and as aligned text."""
    cells = "".join(f"<th {_LEFT}>{_escaped(name)}</th>" for name in head)
    body = "".join(
        f"<tr>{''.join(f'<td {_LEFT}>{_escaped(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    )
    page = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    plain = printable_lines("\n".join(in_columns([head, *rows])))
    return {"text/html": page, "text/plain": plain}


def _escaped(text: str) -> str:
    return escape(printable_lines(text))
