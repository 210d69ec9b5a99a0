"""Specification of foreign text at every door: no control sequence passes."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

import blsnb
from blsnb import (
    InferenceError,
    ModelLoadError,
    TraceFileError,
)
from blsnb.backends.standin import FunctionStandIn
from blsnb.engine.metrics.batching import ModelBatching
from blsnb.engine.metrics.registry import MetricRegistry
from blsnb.errors import BackendError
from blsnb.magics import card
from blsnb.printable import (
    counted,
    in_columns,
    listed,
    printable,
    printable_lines,
    shape_text,
    shortened,
)
from blsnb.repository.export import Exported
from blsnb.repository.serving_readme import readme_text

PACKAGE = Path(blsnb.__file__).parent
OWN_TEXT = {
    "abandoned.AbandonedExecutions",
    "calibration.Reproduction",
    "comparison.Comparison",
    "dynamic_batcher.DynamicBatcher",
    "enums.CompiledEnum",
    "facts.Batching",
    "forming_batch.FormingBatch",
    "graph.ModelGraph",
    "inference_server.Server",
    "lazy_rows.LazyRows",
    "lifetime.ServerLifetime",
    "slot.LastRequests",
    "metrics.Interval",
    "model_log.ModelLog",
    "model_reports.ModelReports",
    "monitor.Monitor",
    "open_requests.OpenRequests",
    "outcome.ClientOutcome",
    "placement.HostilePlacement",
    "rate_limiter.RateLimiter",
    "repository.ModelRepository",
    "server_process.TritonServer",
    "signature.Missing",
    "simulated.DeviceArray",
    "store.StoreCounts",
    "summary.TensorSummary",
    "text_format.TextFormatError",
    "tolerance.Tolerance",
    "watch.Watch",
    "worker_process.WorkerProcess",
}
"""Classes whose texts are numbers, blsnb's own words, or made by those others."""
EVIL = "evil\x1b]0;title\x07\u202etxt"
X = {"X": np.array([1, 2], np.float32)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a␛[31mb"),
        ("two\nlines", "two␊lines"),
        ("evil\u202etxt", "evil⟨U+202E⟩txt"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("\ud800", "⟨U+D800⟩"),
        ("Löwenbräu 東京", "Löwenbräu 東京"),
    ],
)
def test_invisible_and_reordering_characters_are_marked(text, shown):
    """No name looks like another one, and ordinary text is unchanged."""
    assert shown == printable(text)


def controls(text):
    """Return the control characters of a text."""
    return sorted(set(text) & {"\x1b", "\x07", "\u202e"})


def test_the_repr_of_a_run_has_no_controls(server):
    """Names in files, traces, calls and tensors may contain anything."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", X)
    trace = replace(run.trace, title=EVIL)
    span = replace(run.trace.spans[0], instance=EVIL)

    assert [] == controls(repr(trace)) == controls(repr(span))
    assert "evil␛]0;title␇⟨U+202E⟩txt" in repr(trace)


def test_the_card_of_a_model_has_no_controls(server):
    """Neither HTML nor text has them; line breaks remain."""
    status = server.define("double", DOUBLE, config=CONFIG)
    shown = card.bundle(replace(status, reason=EVIL), f"two\n{EVIL}")

    assert [] == controls(shown["text/html"]) == controls(shown["text/plain"])
    assert "\n" in shown["text/plain"]


def test_the_readme_of_an_export_has_no_controls(tmp_path):
    """A folder may have any name."""
    (tmp_path / EVIL / "1").mkdir(parents=True)

    assert [] == controls(readme_text([tmp_path / EVIL], (24, 10)))


def test_the_metrics_page_has_no_controls():
    """Labels and descriptions come from models, and terminals show the page."""
    registry = MetricRegistry({})
    registry.family("g", EVIL, "GAUGE").sample({"label": EVIL}, ())

    assert [] == controls(registry.exposition(()))


def test_a_run_has_no_controls_in_its_repr(server, monkeypatch):
    """Its model's name may come from a forged file."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", X)
    monkeypatch.setattr(run, "model_name", EVIL)

    assert [] == controls(repr(run))
    assert "evil␛]0;title␇⟨U+202E⟩txt" in repr(run)


def test_lines_of_a_text_remain():
    """Line breaks and tabs are no marks in a text of several lines."""
    assert "a␛\n\tb␇" == printable_lines("a\x1b\n\tb\x07")


@pytest.mark.parametrize(
    "kind", [InferenceError, ModelLoadError, TraceFileError, BackendError]
)
def test_errors_have_no_controls(kind):
    """Their text may come from a model or a file; the message is Triton's."""
    error = kind(f"two\n{EVIL}")

    assert [] == controls(str(error))
    assert "two\nevil␛]0;title␇⟨U+202E⟩txt" in str(error)
    assert (f"two\n{EVIL}",) == error.args


def test_no_repr_has_controls():
    """Every class whose text may contain foreign text makes it printable."""
    found = {
        f"{path.stem}.{kind.name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for kind in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(kind, ast.ClassDef)
        for function in kind.body
        if isinstance(function, ast.FunctionDef)
        and function.name in ("__repr__", "__str__")
        and "printable" not in ast.unparse(function)
    }

    assert set() == found - OWN_TEXT


def test_what_others_name_has_no_controls(server, tmp_path):
    """Exports, counters, streams, stand-ins and monitors."""
    server.define("double", DOUBLE, config=CONFIG)
    texts = [
        repr(Exported(tmp_path / EVIL, ("m",), ())),
        repr(ModelBatching(EVIL, 1)),
        repr(FunctionStandIn(EVIL, lambda inputs: {})),
        repr(server.monitor()),
    ]

    assert [[]] * len(texts) == list(map(controls, texts))


def test_rows_become_lines_of_equal_columns():
    """Texts begin at the left and numbers end at the right; blanks at an end go."""
    rows = [("model", "n", ""), ("m", "10", "x")]

    assert ["model  n", "m      10  x"] == in_columns(rows)
    assert ["model   n", "m      10  x"] == in_columns(rows, 1)
    assert [] == in_columns([])


def test_a_count_has_separators_and_the_noun_its_plural():
    """One call, two calls, ten thousand calls."""
    assert ["1 call", "10,000 calls"] == [counted(n, "call") for n in (1, 10_000)]


def test_texts_beyond_a_maximum_are_counted():
    """As many as the maximum are all shown."""
    texts = ["a", "b", "c"]

    assert texts == shortened(texts, 3, "row")
    assert ["a", "b", "… 1 more row"] == shortened(texts, 2, "row")
    assert ["a", "… 2 more rows"] == shortened(texts, 1, "row")


def test_a_list_in_a_sentence_ends_with_the_number_of_others():
    """As many as the maximum are all named."""
    assert "a, b" == listed(["a", "b"], 2)
    assert "a and 1,000 more" == listed(["a"] * 1001, 1)


def test_a_shape_is_written_as_in_texts_of_triton():
    """There are no blanks; a scalar has empty brackets."""
    assert "[-1,3]" == shape_text((-1, 3))
    assert "[]" == shape_text(())
