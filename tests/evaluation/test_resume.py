"""``evaluate(resume=...)``: an evaluation continues from its file."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, TRIPLE, calling, cell

from blsnb import Server
from blsnb.evaluation.result.page import page_of
from blsnb.parts.server_parts import parts_of
from blsnb.printable import rounded

ROWS = [{"X": np.full(1, n, np.float32), "label": 2 * n} for n in range(6)]
METRICS = {"right": lambda row, outputs: outputs["Y"][0] == row["label"]}
FAILING = cell(
    "if x_of(request)[0] == 1: raise ValueError('one')\nreturn [reply(x_of(request))]"
)


@pytest.fixture
def server():
    """A server with a model, one that calls it, and one that fails for a row."""
    with Server() as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("outer", calling("double"), config=CONFIG)
        server.define("failing", FAILING, config=CONFIG)
        yield server


@pytest.fixture
def path(tmp_path):
    """The file of an evaluation."""
    return tmp_path / "rows.blseval"


def interrupted_rows(count):
    """Yield some rows; then Ctrl-C is pressed."""
    yield from ROWS[:count]
    raise KeyboardInterrupt


def executions(server, name="outer"):
    """Return the number of requests that a model executed."""
    [found] = server.statistics(name)["model_stats"]
    return int(found["inference_stats"]["success"]["count"])


@pytest.mark.parametrize("workers", [None, 2])
def test_an_interrupted_evaluation_continues(server, path, workers):
    """The result is that of all rows; finished ones are not executed again."""
    options = {"metrics": METRICS, "resume": path, "workers": workers}
    first = server.evaluate("outer", interrupted_rows(4), **options)
    found = server.evaluate("outer", ROWS, **options)

    assert first.interrupted
    assert not found.interrupted
    assert len(first) <= 4
    assert list(range(6)) == found.numbers.tolist()
    assert [1] * 6 == found.metrics["right"].values.tolist()
    assert {"double": 6, "outer": 6} == dict(found.calls)
    kept = len(first)
    assert first.latency_us.tolist() == found.latency_us[:kept].tolist()


def test_finished_rows_are_not_executed_again(server, path):
    """Metrics are computed anew, from the stored outputs."""
    server.evaluate("outer", interrupted_rows(4), resume=path)
    ran = executions(server)

    resumed = server.evaluate("outer", ROWS, resume=path)
    assert 4 == resumed.stored
    took, before = page_of(resumed).facts[2:]
    assert took.endswith(f", {rounded(2 / resumed.duration_s)} rows/s")
    assert "4 executed before" == before
    found = server.evaluate("outer", ROWS, resume=path, metrics=METRICS)

    assert ran + 2 == executions(server)
    assert [1] * 6 == found.metrics["right"].values.tolist()


def test_failures_are_results(server, path):
    """A failed row keeps its text and is not executed again."""
    first = server.evaluate("failing", ROWS, resume=path)
    found = server.evaluate("failing", ROWS, resume=path)

    assert first.errors == found.errors
    assert [1] == list(found.errors)


def test_failures_of_two_sessions_have_one_text(path):
    """The text names the model's file, which is in another folder for each session."""
    source = FAILING.replace("== 1", "in (1, 5)")
    found = []
    for rows in (interrupted_rows(4), ROWS):
        with Server() as session:
            session.define("failing", source, config=CONFIG)
            found.append(session.evaluate("failing", rows, resume=path))
            folder = parts_of(session).repository.directory("failing").path

    [(text, rows)] = found[1].failures.items()
    assert [1, 5] == rows
    assert f"{folder}/1/model.py" in text


def test_a_changed_model_is_refused(server, path):
    """Also one that the evaluated model only calls."""
    server.evaluate("outer", ROWS, resume=path)
    server.define("double", TRIPLE, config=CONFIG)

    with pytest.raises(ValueError, match="another evaluation: the model 'double'"):
        server.evaluate("outer", ROWS, resume=path)


def test_changed_rows_are_refused(server, path):
    """A row with a result has other inputs."""
    server.evaluate("outer", ROWS, resume=path)

    with pytest.raises(
        ValueError,
        match=r"a result of row 0 with other inputs: the rows, or their "
        r"order, have changed\. Resume with another file, or "
        r"delete this one$",
    ):
        server.evaluate("outer", ROWS[::-1], resume=path)


def test_a_batch_of_rows_is_stored(server, path):
    """Its rows have their own outputs."""
    batching = f"max_batch_size: 4\n{CONFIG}"
    server.define("stacked", DOUBLE, config=batching)
    server.evaluate("stacked", ROWS, resume=path, batch=4)

    found = server.evaluate("stacked", ROWS, resume=path, batch=4, outputs=None)

    assert [[2 * n] for n in range(6)] == [each.tolist() for each in found.outputs["Y"]]


def test_both_sides_of_a_comparison_are_stored(server, path):
    """Neither is executed again; each has a file."""
    server.define("triple", TRIPLE, config=CONFIG)
    first = server.evaluate("outer", ROWS, resume=path, against="triple")
    ran = executions(server), executions(server, "triple")
    assert [path.name, f"{path.name}.against"] == sorted(
        each.name for each in path.parent.iterdir()
    )

    again = server.evaluate("outer", ROWS, resume=path, against="triple")

    assert ran == (executions(server), executions(server, "triple"))
    assert len(first.comparison.changed) == len(again.comparison.changed) == 5
