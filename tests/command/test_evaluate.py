"""``blsnb evaluate``: a repository's model on a data set."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from asserting import every
from cells import DOUBLE, cell
from reviewed import reviewed

from .test_verify import write_models

METRICS = """
import numpy as np

def error(row, outputs):
    return float(abs(outputs["Y"] - row["label"]).max())

def right(row, outputs):
    return float(error(row, outputs) == 0)

def broken(row, outputs):
    raise KeyError("label")

def rows():
    yield {"X": np.ones(1, np.float32), "label": 2}

def bad_rows():
    yield {}["path"]

def ends(*row):
    raise SystemExit(0)

NUMBER = 3
"""
FAILING = cell(
    "x = x_of(request)\nif x[0] == 2: raise ValueError('two')\nreturn [reply(x * 2)]"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with models, metrics and four rows, one of them wrong."""
    write_models(tmp_path / "models", double=DOUBLE, failing=FAILING)
    (tmp_path / "measures_of_test.py").write_text(METRICS)
    (tmp_path / "script_of_test.py").write_text("import sys\nsys.exit(0)\n")
    x = np.arange(4, dtype=np.float32).reshape(4, 1)
    np.savez(tmp_path / "rows.npz", X=x, label=[0, 2, 4, 7])
    monkeypatch.chdir(tmp_path)
    # As of the installed program: Python itself does not look in the working folder.
    monkeypatch.setattr(sys, "path", [*filter(None, sys.path)])
    return tmp_path


RIGHT = "measures_of_test:right"
ERROR = "measures_of_test:error"


def test_an_evaluation_is_a_line_of_text(folder, blsnb):
    """Without limits a wrong answer is not a failure."""
    ended = blsnb("evaluate", "models", "double", "rows.npz", "--metric", RIGHT)

    assert (0, "") == (ended.status, ended.stderr)
    assert ended.stdout.startswith("<Evaluation double: 4 rows, right 0.75 [")


def test_a_limit_that_is_reached_is_a_success(folder, blsnb):
    """Metrics may have other names than their functions."""
    options = ["--metric", f"hit={RIGHT}", "--metric", f"off={ERROR}"]
    limits = ["--at-least", "hit=0.75", "--at-most", "off=0.25"]

    ended = blsnb("evaluate", "models", "double", "rows.npz", *options, *limits)

    assert 0 == ended.status


def test_a_limit_that_is_not_reached_lists_the_worst_rows(folder, blsnb):
    """The exit status is 1; rows have their labels."""
    options = ["--metric", RIGHT, "--at-least", "right=0.9"]

    ended = blsnb("evaluate", "models", "double", "rows.npz", *options)

    assert 1 == ended.status
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("double: right 0.75 [")
    assert lines[0].endswith("] is below 0.9")
    assert ["  worst rows of right", "    row 3 (label=7): 0"] == lines[1:3]


def test_a_failed_row_is_a_failure(folder, blsnb):
    """Its error is on stdout, and the exit status is 1."""
    ended = blsnb("evaluate", "models", "failing", "rows.npz")

    assert 1 == ended.status
    assert ended.stdout.startswith("failing: 1 row failed\n  1 row failed: [")
    assert "\n    row 2 (label=4)\n" in ended.stdout
    allowed = ["--max-failed", "1"]
    assert 0 == blsnb("evaluate", "models", "failing", "rows.npz", *allowed).status


def test_a_failed_metric_is_a_failure(folder, blsnb):
    """A mean over the other rows would not be that of the data set."""
    options = ["--metric", "measures_of_test:broken"]

    ended = blsnb("evaluate", "models", "double", "rows.npz", *options)

    assert 1 == ended.status
    assert "metric broken failed for 4 rows; row 0: KeyError" in ended.stdout


@pytest.mark.parametrize("name", ["", "="])
def test_a_metric_without_a_name_has_that_of_its_function(folder, blsnb, name):
    """Limits refer to it by this name."""
    options = ["--metric", f"{name}{RIGHT}", "--at-least", "right=0.5"]

    ended = blsnb("evaluate", "models", "double", "rows.npz", *options)

    assert 0 == ended.status, ended.stderr


def test_the_result_as_json(folder, blsnb):
    """A program reads counts, means with intervals, and the rows to look at."""
    options = ["--metric", RIGHT, "--at-least", "right=0.5", "--json"]

    ended = blsnb("evaluate", "models", "failing", "rows.npz", *options)

    assert 1 == ended.status
    found = json.loads(ended.stdout)
    assert ["failing", 4, 1, False] == [
        found[name] for name in ("model", "rows", "failed", "interrupted")
    ]
    assert found["duration_s"] > 0
    assert 10 == len(found)
    metric = found["metrics"]["right"]
    assert pytest.approx(2 / 3) == metric["mean"]
    assert metric["low"] <= metric["mean"] <= metric["high"]
    assert [3, 0, 1] == metric["worst"]
    [failure] = found["failures"]
    assert (1, [2]) == (failure["rows"], failure["first"])
    assert "ValueError: two" in failure["error"]
    assert ["1 row failed"] == found["shortfalls"]
    assert {"p50", "p90", "p99", "max"} == set(found["latency_us"])
    assert {"failing": 4} == found["calls"]


def test_rows_of_a_function(folder, blsnb):
    """It may read any kind of data."""
    rows = "measures_of_test:rows"

    ended = blsnb("evaluate", "models", "double", rows, "--metric", RIGHT)

    assert ended.stdout.startswith("<Evaluation double: 1 row, right 1 [1, 1]")


def test_a_resumed_evaluation_executes_no_finished_row(folder, blsnb):
    """The result is that of all rows."""
    options = ["--resume", "double.blseval", "--metric", RIGHT, "--json"]
    first = blsnb("evaluate", "models", "double", "rows.npz", *options)
    again = blsnb("evaluate", "models", "double", "rows.npz", *options)

    assert [0, 0] == [first.status, again.status]
    first, again = json.loads(first.stdout), json.loads(again.stdout)
    assert first["metrics"] == again["metrics"]
    assert first["latency_us"] == again["latency_us"]


REFUSED = [
    *("nowhere.npz", "measures_of_test:bad_rows", "measures_of_test:ends"),
    *("rows.npz --metric right", "rows.npz --metric measures_of_test:no"),
    *("rows.npz --metric :no", "rows.npz --metric measures_of_test:NUMBER"),
    *("rows.npz --metric measures_of_test:ends", "rows.npz --metric no_module:f"),
    *("rows.npz --metric script_of_test:main", "rows.npz --at-least right"),
    f"rows.npz --metric {RIGHT} --metric right={ERROR}",
    *("rows.npz --at-least right=x", "rows.npz --at-least right=1"),
    f"rows.npz --at-least right=nan --metric {RIGHT}",
    "rows.npz --at-most a=1 --at-most a=2",
    *("rows.npz --batch 0", "rows.npz --max-failed -1"),
]


def test_what_cannot_be_evaluated_has_status_2(folder, blsnb):
    """A reviewed line on stderr says why, and stdout is empty."""
    ended = [blsnb("evaluate", "models", "double", *each.split()) for each in REFUSED]
    texts = "".join(
        f"{words}\n    {each.stderr}"
        for words, each in zip(REFUSED, ended, strict=True)
    )

    assert [(2, "")] * len(REFUSED) == [(each.status, each.stdout) for each in ended]
    assert every(1 == each.stderr.count("\n") for each in ended)
    golden = Path(__file__).with_name("refused_evaluations.txt")
    assert reviewed(golden, texts) == texts


def test_an_unknown_model_has_status_2(folder, blsnb):
    """The text is Triton's."""
    ended = blsnb("evaluate", "models", "nothing", "rows.npz")

    assert 2 == ended.status
    assert "Request for unknown model: 'nothing' is not found" in ended.stderr
