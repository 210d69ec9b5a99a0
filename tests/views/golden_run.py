"""The sample run as both languages read it; run as a module to write it anew.

``python -m tests.views.golden_run``
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from blsnb.trace.comparison import compare
from blsnb.trace.events import CallFlag
from blsnb.trace.excerpt import by_importance
from blsnb.trace.files.perfetto import perfetto_json
from blsnb.trace.spans import Trace
from blsnb.views.documents import document, embed, wire
from blsnb.views.evaluations.histogram import Distribution, histogram
from blsnb.views.figures.figure import plot
from blsnb.views.pictures.load_picture import DrawnLoad, draw
from blsnb.views.pictures.snapshot import snapshot
from blsnb.views.tree import tree

from .samples import Script, edited_run, hostile_run, invoice_run, running_run

FOLDER = Path(__file__).parent / "golden"
HEADER = FOLDER / "run27.json"
BUFFER = FOLDER / "run27.bin"
PICTURE = FOLDER / "run27.svg"
TREE = FOLDER / "run27.txt"
COMPARED_HEADER = FOLDER / "compared.json"
COMPARED_BUFFER = FOLDER / "compared.bin"
COMPARED_TREE = FOLDER / "compared.txt"
COMPARED_PICTURE = FOLDER / "compared.svg"
CYCLE_PICTURE = FOLDER / "cycle.svg"
FIGURE = FOLDER / "figure.txt"
PAGE = FOLDER / "page.html"
LOADS = FOLDER / "loads.svg"
HISTOGRAMS = FOLDER / "histograms.svg"
PERFETTO = FOLDER / "perfetto.json"


def encoded() -> tuple[dict, bytes]:
    """Header and buffer of the 27 calls, with all that fits of their tensors."""
    trace = invoice_run()
    header, buffer = wire.assemble(trace)
    order = by_importance(trace)
    header["tensors"] = embed.embed(trace, order, buffer)
    return header, bytes(buffer)


def compared() -> tuple[dict, bytes]:
    """Header and buffer of the run after an edit beside the one before."""
    header, buffer = wire.assemble(compare(edited_run(), invoice_run()))
    return header, bytes(buffer)


def cycle_run() -> Trace:
    """Return a run of models that call each other and themselves, and many others."""
    script = Script()
    script.model("a")
    script.model("b")
    outer = script.call(None, "a", 0, 3, 2, 100, 4)
    middle = script.call(outer, "b", 5, 1, 1, 50, 2, CallFlag.ASYNC)
    script.call(middle, "a", 6, 0, 0, 5, 0, CallFlag.ERROR, line=3)
    script.call(middle, "b", 15, 0, 0, 5, 0)
    for number in range(40):
        script.model(f"m{number}")
        script.call(outer, f"m{number}", 20 + number, 0, 0, 5, 0)
    return script.trace()


def figure() -> str:
    """Return the texts, areas and lines of two figures, with their places."""
    figures = [plot(invoice_run()), plot(cycle_run())]
    return "\n".join(line for each in figures for line in _drawn(each)) + "\n"


def _drawn(figure) -> Iterator[str]:
    yield f"figure {figure.get_size_inches().round(3).tolist()} {figure.dpi}"
    for text in figure.findobj(lambda each: hasattr(each, "get_fontweight")):
        if text.get_text():
            place = [round(float(each), 2) for each in text.get_position()]
            style = text.get_fontsize(), text.get_fontweight(), text.get_color()
            aligned = text.get_ha(), text.get_va()
            yield f"text {text.get_text()!r} {place} {style} {aligned}"
    for axes in figure.axes:
        yield f"axes {axes.get_position().bounds} {axes.get_xlim()} {axes.get_ylim()}"
        for patch in axes.patches:
            points = patch.get_path().vertices.round(1).tolist()
            colours = patch.get_facecolor(), patch.get_edgecolor()
            yield f"patch {points} {colours} {patch.get_linestyle()}"
        for bars in axes.collections:
            points = [path.vertices[:3].round(2).tolist() for path in bars.get_paths()]
            yield f"bars {points} {bars.get_facecolor().round(3).tolist()}"
        for line in axes.lines:
            yield f"line {line.get_xydata().tolist()} {line.get_color()}"


def page() -> str:
    """Return the page of a run as readers without scripts see it."""
    whole = document.html(hostile_run(), carries_code=False, notes=("a <note>",))
    return re.sub('base64,[^"]*', "base64,", whole.partition("<script")[0]) + "\n"


def loads() -> str:
    """Return pictures of loads: of clients, of rates, and of a checked plan."""
    row = {"p50_us": 1e3, "p90_us": 1.5e3, "p99_us": 2e3, "throughput": 10.0}
    silent = row | {name: math.nan for name in ("p50_us", "p90_us", "p99_us")}
    errors = {"p50_error_us": 90.0, "p99_error_us": 3e3}
    rates = [
        row | errors | {"rate": 10.0 * n, "throughput": 9.0 * n} for n in (1, 2, 5)
    ]
    drawn = [
        DrawnLoad([row | {"concurrency": n, "p99_us": 2e3 * n} for n in (1, 4, 64)]),
        DrawnLoad([*rates, silent | {"rate": 70.0}, rates[2] | {"rate": 90.0}]),
        DrawnLoad(rates, rates[1:], rate=20.0, limit_us=4e3, error=0.05),
        DrawnLoad([rates[0] | {"rate": float(n)} for n in range(30)]),
        DrawnLoad([]),
    ]
    return "".join(f"{draw(each, 'load')}\n" for each in drawn)


def histograms() -> str:
    """Return pictures of values: spread evenly, over decades, equal, and of none."""
    even = np.array([*range(40), 7, 7, 7, math.nan, math.inf], np.float64)
    drawn = [even, 2.0 ** np.arange(9), np.array([3.0, 3.0]), even[-2:]]
    return "".join(
        f"{histogram(Distribution('time', '', each, '{:g} ms'.format))}\n"
        for each in drawn
    )


def perfetto() -> str:
    """Return the file of an ended and a running run for Perfetto, by events."""
    text = "".join(perfetto_json([invoice_run(), running_run()]))
    return text.replace('},{"ph"', '},\n{"ph"') + "\n"


def write() -> None:
    PERFETTO.write_text(perfetto(), "utf-8")
    HISTOGRAMS.write_text(histograms(), "utf-8")
    CYCLE_PICTURE.write_text(snapshot(cycle_run()), "utf-8")
    FIGURE.write_text(figure(), "utf-8")
    PAGE.write_text(page(), "utf-8")
    LOADS.write_text(loads(), "utf-8")
    _write(encoded(), HEADER, BUFFER)
    _write(compared(), COMPARED_HEADER, COMPARED_BUFFER)
    comparison = compare(edited_run(), invoice_run())
    COMPARED_TREE.write_text(tree(comparison) + "\n", "utf-8")
    COMPARED_PICTURE.write_text(snapshot(comparison), "utf-8")
    PICTURE.write_text(snapshot(invoice_run()), "utf-8")
    TREE.write_text(tree(invoice_run()) + "\n", "utf-8")


def _write(sent: tuple[dict, bytes], header: Path, buffer: Path) -> None:
    text = json.dumps(sent[0], indent=1, ensure_ascii=False, sort_keys=True)
    header.write_text(text + "\n", "utf-8")
    buffer.write_bytes(sent[1])


if __name__ == "__main__":
    write()
