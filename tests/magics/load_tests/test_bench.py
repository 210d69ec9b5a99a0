"""Specification of %triton bench."""

import pytest
from asserting import every
from IPython.core.error import UsageError

from blsnb.errors import InferenceError
from blsnb.magics import default_server as default
from blsnb.magics.frontend import ProgressBar
from blsnb.magics.load_tests.bench import bench_flags
from blsnb.views.pictures import load_picture

from ..models import DOUBLE

BENCH = "%triton bench double X=[1.0, 2.0] --duration 1m --requests 12"


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE.replace("--input", "--quiet --input"))
    return notebook


def test_a_bench_is_a_table_and_a_figure(double):
    """The value is the result, with its rows as plain data."""
    ran = double.run(f"{BENCH} --concurrency 1,2")

    assert [(1, 12, 0), (2, 12, 0)] == [
        (row.concurrency, row.requests, row.failed) for row in ran.value.rows
    ]
    [shown] = ran.outputs
    assert shown["text/plain"] == str(ran.value)
    assert 3 == shown["text/html"].count("<tr>")
    assert 1 == shown["text/html"].count("closed loop")
    assert 'class="blsnb-picture"' in shown["text/html"]


def test_ctrl_c_while_the_figure_is_drawn_leaves_the_table(double, monkeypatch):
    """What has been measured is not lost."""

    def interrupted(*_) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(load_picture, "draw", interrupted)
    [shown] = double.run(f"{BENCH} --concurrency 1").outputs

    assert 2 == shown["text/html"].count("<tr>")
    assert "<svg" not in shown["text/html"]


def test_without_options_there_are_four_levels():
    """The default levels last five seconds each."""
    given = bench_flags().parse([])

    assert ((1, 2, 4, 8), 5.0) == (given.concurrency, given.duration)
    assert (100_000, None) == (given.requests, given.trace_level)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("5s", 5), ("500ms", 0.5), ("2m", 120), ("3", 3), (".5s", 0.5)],
)
def test_a_duration_has_a_unit_or_is_seconds(written, seconds):
    """Durations are written as 5s, 500ms, 2m or 5."""
    assert seconds == bench_flags().parse(["--duration", written]).duration


def test_options_may_stand_anywhere(double):
    """Options may stand between inputs, whose expressions may contain spaces."""
    double.run("n, levels = 3, '1,3'")
    ran = double.run(
        "%triton bench --requests 2 double --trace-level off X=[1.0] * n "
        "--duration 9s --concurrency {levels}"
    )

    assert [1, 3] == [row.concurrency for row in ran.value.rows]
    assert "off" == ran.value.trace_level


def test_the_runs_of_a_bench_are_not_shown(double):
    """The runs are neither displayed nor kept."""
    ran = double.run(f"{BENCH} --concurrency 2")

    assert 1 == len(ran.outputs)
    assert [] == default.server().runs


def test_requests_that_fail_are_shown_by_text(double):
    """Each error text is shown once, with the number of failed requests."""
    double.run(DOUBLE.replace("answers = []", "raise ValueError('no')"))
    ran = double.run("%triton bench double X=[1.0] --requests 3 --concurrency 1")

    assert 3 == ran.value.rows[0].failed
    assert "3 failed: [INTERNAL] " in ran.texts[0]
    assert "<pre>3 failed: [INTERNAL]" in ran.outputs[0]["text/html"]


def test_a_refused_request_is_shown_as_that_of_a_run(double):
    """Nothing is measured; the error has the same advice."""
    ran = double.run("%triton bench double Y=[1.0]")

    assert isinstance(ran.error, InferenceError)
    assert "unexpected inference input 'Y' for model 'double'" == ran.error.message
    assert "Its inputs are: X." in str(ran.error)


def test_the_same_without_a_magic(double):
    """`blsnb.bench` measures a model of the default server."""
    ran = double.run(
        "import blsnb\nblsnb.bench('double', {'X': [1.0]}, concurrency=[1], requests=2)"
    )

    assert 2 == ran.value.rows[0].requests


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "usage: %triton bench NAME INPUT=EXPRESSION"),
        ("X=[1.0]", "usage: %triton bench NAME INPUT=EXPRESSION"),
        ("double X=[1.0] --concurrency one", "'one' is not a list of numbers"),
        ("double X=[1.0] --concurrency x", "Error: %triton bench: argument"),
        ("double X=[1.0] --concurrency x", "\n%triton bench --help explains"),
        (
            "double X=[1.0] --concurrency 0",
            "concurrency=0 is not valid; expected 1 to 1,024",
        ),
        ("double X=[1.0] --duration 5h", "'5h' is not a time such as 5s or 500ms"),
        ("double X=[1.0] --duration 0s", "more than 0"),
        ("double X=[1.0] --requests none", "invalid int value: 'none'"),
        ("double X=[1.0] --rate 5 --concurrency 2", "not allowed with argument --rate"),
        ("double X=[1.0] --trace-level all", "invalid choice: 'all'"),
        ("double X=[1.0] --concurrency", "expected one argument"),
        ("double X=[1.0] --concurency 4", "--concurency. Did you mean --concurrency?"),
        ("double --concurency 4", "--concurency. Did you mean --concurrency?"),
    ],
)
def test_invalid_arguments_are_named(double, line, text):
    """Invalid arguments are named, and no request is made."""
    ran = double.run(f"%triton bench {line}")

    assert isinstance(ran.error, UsageError)
    assert text in ran.stderr


def test_help_is_printed(double):
    """The help lists each option with its default."""
    for line in ("%triton bench --help", "%triton bench double --help"):
        assert "--concurrency" in double.run(line).stdout


def test_a_model_that_does_not_serve_is_refused(double):
    """The error has Triton's text."""
    ran = double.run("%triton bench nowhere X=[1.0]")

    assert isinstance(ran.error, InferenceError)
    assert "unknown model: 'nowhere'" in str(ran.error)


def test_a_bar_moves_where_there_is_a_page(double, monkeypatch):
    """The bar is one output, which ends as a line of text; no widget remains."""
    monkeypatch.setattr(type(double.shell), "kernel", object(), raising=False)
    ran = double.run(f"{BENCH} --concurrency 2")

    *moves, last, table = ran.outputs
    assert "double: not begun" == moves[0]["text/plain"]
    assert every("<progress" in shown["text/html"] for shown in moves)
    assert {"text/html", "text/plain"} == {key for each in moves for key in each}
    assert "100% double: done" == moves[-1]["text/plain"]
    assert "double: done" == last["text/plain"]
    assert "closed loop" in table["text/plain"]


def test_a_bar_of_an_unknown_share_names_none(monkeypatch):
    """An evaluation of an iterator does not know how many rows there are."""
    shown = []
    monkeypatch.setattr(
        "blsnb.magics.frontend.display", lambda data, **_: shown.append(data)
    )
    ProgressBar("m")(0.0, "99,801 rows")

    assert "m: 99,801 rows" == shown[-1]["text/plain"]
    assert "value" not in shown[-1]["text/html"]
    assert "%" not in shown[-1]["text/html"]


def test_a_name_that_is_markup_stays_text(double, monkeypatch, capsys):
    """A model's name is escaped in the table and in the progress bar."""
    shown = []
    monkeypatch.setattr(
        "blsnb.magics.frontend.display", lambda data, **_: shown.append(data)
    )
    ProgressBar("<b>")

    assert "<b>" not in shown[0]["text/html"]
    assert "&lt;b&gt;: not begun" in shown[0]["text/html"]


def test_rates_open_the_loop(double):
    """The table has what was wanted and what was sent."""
    ran = double.run(
        "%triton bench double X=[1.0, 2.0] --rate 100 --arrivals constant "
        "--duration 200ms"
    )
    caption, head, row, *_ = ran.outputs[0]["text/plain"].splitlines()

    assert "open loop, constant arrivals" in caption
    assert ["wanted/s", "sent/s"] == head.split()[:2]
    assert "100" == row.split()[0]
