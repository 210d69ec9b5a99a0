"""Specification of %triton evaluate."""

from __future__ import annotations

from inspect import signature

import pytest
from IPython.core.error import UsageError

from blsnb import Server
from blsnb.evaluation.progress import Progress, ShownProgress, displays
from blsnb.magics import default_server as default
from blsnb.magics.evaluating import evaluate
from blsnb.views.live import evaluation_view

from ..models import DOUBLE

ROWS = "rows = [{'X': [float(n)], 'label': n} for n in range(5)]"
METRIC = "def first(row, outputs):\n    return outputs['Y'][0] - row['label']"


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE)
    notebook.run(ROWS)
    notebook.run(METRIC)
    return notebook


def test_rows_and_metrics_are_names_of_the_notebook(double):
    """The value is the evaluation of all rows."""
    evaluation = double.run(
        "%triton evaluate double rows --metrics first --lower-is-better first --keep 1"
    ).value

    assert [0.0, 1.0, 2.0, 3.0, 4.0] == evaluation.metrics["first"].values.tolist()
    assert [4] == evaluation.worst["first"]


def test_rows_may_be_any_expression(double):
    """Options stand anywhere."""
    evaluation = double.run("%triton evaluate double --outputs Y rows[1:] + rows").value

    assert 9 == len(evaluation)


def test_a_resumed_evaluation_executes_no_row_again(double, tmp_path):
    """The file of --resume has the results of an earlier line."""
    line = f"%triton evaluate double rows --resume '{tmp_path / 'my rows.blseval'}'"
    first = double.run(line).value
    again = double.run(line).value

    assert 5 == len(first) == len(again)
    assert [0, 1, 2, 3, 4] == [*first.runs]
    assert {} == again.runs


def test_rows_are_executed_by_a_server(double):
    """The models of --server-url answer; their results are the values of the line."""
    served = default.server().serve(http=None, grpc=0, metrics=None)
    with served as endpoints:
        url = f"grpc://{endpoints.addresses['gRPC']}"
        evaluation = double.run(
            f"%triton evaluate double rows --metrics first --server-url {url}"
            " --workers 2"
        ).value

    assert [0.0, 1.0, 2.0, 3.0, 4.0] == evaluation.metrics["first"].values.tolist()
    assert {} == evaluation.runs


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("double", "usage: %triton evaluate NAME ROWS"),
        ("double nowhere", "ROWS=nowhere: name 'nowhere' is not defined"),
        ("double /a.npz", "ROWS=/a.npz: invalid syntax; expected an expression of "),
        ("double rows --metrics rows", "--metrics rows: the notebook has no function"),
        ("double rows --metric first", "--metric. Did you mean --metrics?"),
        ("double rows --batch 0", "batch=0 is not valid"),
        ("double rows --workers 0", "workers=0 is not valid"),
    ],
)
def test_a_wrong_line_is_a_usage_error(double, line, text):
    """The text names what is wrong."""
    error = double.run(f"%triton evaluate {line}").error

    assert isinstance(error, UsageError)
    assert text in str(error)


def test_the_options_of_a_line_have_the_defaults_of_evaluate():
    """A line without options evaluates as `Server.evaluate` does."""
    function = signature(Server.evaluate).parameters
    given = vars(evaluate.evaluate_flags().parse([]))
    defaults = {name: function[name].default for name in given if name != "help"}

    assert {"help": None, **defaults, "metrics": (), "lower_is_better": ()} == given


def test_progress_says_rate_time_left_and_failures():
    """The time left needs the number of rows."""
    assert (
        "500 of 2,000 rows, 50/s, 30 s left, 3 failed"
        == Progress(500, 3, 2000, 10.0).text
    )
    assert "500 rows, 50/s" == Progress(500, 0, None, 10.0).text
    resumed = Progress(1500, 0, 2000, 10.0, stored=1400)
    assert "1,500 of 2,000 rows, 10/s, 50 s left" == resumed.text


def test_a_short_evaluation_shows_no_progress(monkeypatch):
    """After half a second it is shown; its last text remains."""
    shown = []

    class Bar:
        def __init__(self, name):
            shown.append(name)

        def __call__(self, share, text):
            shown.append((share, text))

        def end(self):
            shown.append("end")

    monkeypatch.setattr(displays, "make", Bar)
    progress = ShownProgress("m")
    progress(Progress(1, 0, 4, 0.1))
    assert [] == shown

    progress(Progress(2, 0, 4, 1.0))
    progress.end()
    assert ["m", (0.5, "2 of 4 rows, 2/s, 1 s left"), "end"] == shown


def test_an_evaluation_is_displayed_with_its_rows(double):
    """Without a page the lists are tables."""
    [shown] = double.run("%triton evaluate double rows --metrics first").outputs

    assert "latency" in shown["text/html"]
    assert "<summary>worst first</summary>" in shown["text/html"]
    assert "Evaluation of double: 5 rows, none failed" in shown["text/plain"]


def test_a_comparison_is_displayed(double):
    """With --against the value is shown as the comparison of both models."""
    double.run(DOUBLE.replace("double", "before").replace("* 2", "* 3"))
    [shown] = double.run("%triton evaluate double rows --against before").outputs

    assert "Comparison of double with before" in shown["text/plain"]
    assert "Other outputs, the largest deviation first" in shown["text/html"]


def test_a_click_opens_the_view_of_a_run(double, monkeypatch):
    """In a page each row is a button of the chosen list; the view names its row."""
    views = []
    created = evaluation_view.EvaluationView
    monkeypatch.setattr(evaluate, "has_page", lambda shell: True)
    monkeypatch.setattr(
        evaluation_view,
        "EvaluationView",
        lambda *given: views.append(created(*given)) or views[-1],
    )
    [shown] = double.run("%triton evaluate double rows --metrics first").outputs
    # A saved notebook, which has no such widget, shows the tables.
    assert {"text/html", "text/plain"} == set(shown)
    assert "<details>" in shown["text/html"]
    [view] = views
    choice, _, listed, output = view.children[1:]

    assert ["worst first", "slowest"] == [title for title, _ in choice.options]
    shown_rows = [each for each in listed.children if each.layout.display == ""]
    assert 5 == len(shown_rows)
    shown_rows[0].click()
    title, opened = output.outputs
    assert {"text/plain": "row 0"} == title["data"]
    assert "blsnb" in opened["data"]["text/html"]
