"""Server.evaluate in several places: the same answers in the same order."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest

from blsnb.errors import BlsnbError, InferenceError
from blsnb.evaluation.result.evaluation import Evaluation
from blsnb.inference_server import Server
from blsnb.results.run import Run

from .work.places import DOUBLE, MODEL

pytestmark = pytest.mark.xdist_group("evaluation workers")
COUNT, MANY = 1_000, 10_000
FAILS = {123: -3, 567: -4}
"""Values with which the model fails, by row."""


def rows(count: int) -> Iterator[dict[str, object]]:
    """Yield rows with labels; two of them fail."""
    for number in range(count):
        yield {"X": np.array([FAILS.get(number, number), 1]), "label": 2 * number}


def is_right(row: dict[str, object], outputs: dict[str, np.ndarray]) -> float:
    """Return 1 if the first output is the label."""
    return float(outputs["Y"][0] == row["label"])


def outputs(evaluation: Evaluation) -> list[list[int] | None]:
    """Return the output of each row; None where it failed."""
    return [y if y is None else y.tolist() for y in evaluation.outputs["Y"]]


@pytest.fixture(scope="module")
def double() -> Iterator[Server]:
    """Serve the model."""
    with Server() as server:
        server.define(MODEL, DOUBLE)
        yield server


@contextmanager
def processes(server: Server) -> Iterator[dict[str, Any]]:
    """Two processes of ours."""
    yield {"workers": 2}


@contextmanager
def spawned_pool(server: Server) -> Iterator[dict[str, Any]]:
    """A pool of Python's own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        yield {"executor": executor}


@contextmanager
def threads(server: Server) -> Iterator[dict[str, Any]]:
    """Threads of this process, which share one copy of the server."""
    with ThreadPoolExecutor(2) as executor:
        yield {"executor": executor}


@contextmanager
def loky(server: Server) -> Iterator[dict[str, Any]]:
    """Loky's processes."""
    loky = pytest.importorskip("loky", reason="loky is not installed")
    executor = loky.ProcessPoolExecutor(1)
    yield {"executor": executor}
    executor.shutdown(kill_workers=True)


@contextmanager
def served(server: Server) -> Iterator[dict[str, Any]]:
    """A server that is reached by gRPC."""
    with server.serve(http=None, grpc=0, metrics=None) as endpoints:
        yield {"server_url": f"grpc://{endpoints.addresses['gRPC']}"}


PLACES = [processes, spawned_pool, threads, loky, served]


@pytest.mark.parametrize(
    ("place", "count"),
    [
        *((place, COUNT) for place in PLACES),
        pytest.param(processes, MANY, marks=pytest.mark.slow),
    ],
)
def test_all_places_give_the_answers_of_this_process(
    double: Server,
    place: Callable[[Server], AbstractContextManager[dict[str, Any]]],
    count: int,
) -> None:
    """Many rows have the same outputs, errors and metrics, in the same order."""
    metrics = {"right": is_right}
    here = double.evaluate(MODEL, rows(count), metrics=metrics)
    with place(double) as options:
        there = double.evaluate(MODEL, rows(count), metrics=metrics, **options)
    assert count == len(there)
    assert here.numbers.tolist() == there.numbers.tolist()
    assert outputs(here) == outputs(there)
    # Also the folders in the error texts are those of this process.
    assert here.errors == there.errors
    assert [*FAILS] == [*there.errors]
    right = [e.metrics["right"].values.tolist() for e in (here, there)]
    assert str(right[0]) == str(right[1])


def test_whole_runs_arrive_from_processes(double: Server) -> None:
    """The slowest and the failed rows are runs, as those of this process."""
    found = double.evaluate(MODEL, rows(10), workers=1)
    run = found.run(found.slowest[0])
    assert isinstance(run, Run)


def test_the_worst_rows_of_a_metric_have_runs_from_processes(double: Server) -> None:
    """They are executed once more; the results remain those of one execution."""
    found = double.evaluate(
        MODEL,
        ({"X": np.array([number, 1])} for number in range(300)),
        metrics={"first": lambda row, outputs: outputs["Y"][0]},
        lower_is_better=["first"],
        keep=2,
        workers=1,
    )
    assert [299, 298] == found.worst["first"]
    runs = [found.run(number) for number in (299, 298)]
    assert [299, 298] == [run.outputs["Y"][0] // 2 for run in runs]
    assert {} == found.without_run
    assert len(found) == found.calls[MODEL] == 300


def test_the_worst_rows_of_a_real_server_are_named(double: Server) -> None:
    """A server returns answers only."""
    with served(double) as options:
        metrics = {"right": is_right}
        found = double.evaluate(MODEL, rows(5), metrics=metrics, **options)
    assert {"a real server returns no runs"} == {*found.without_run.values()}
    with pytest.raises(KeyError, match="row 3 has no whole run: a real server"):
        found.run(3)


def test_what_cannot_travel_is_refused_before_a_row_runs(double: Server) -> None:
    """The error names the model; no row is taken."""
    taken = []

    def noted() -> Iterator[dict[str, object]]:
        for row in rows(COUNT):
            taken.append(row)
            yield row

    config = double.config_text(MODEL)
    double.define("bound", None, config=config.replace(MODEL, "bound"))
    with (
        double.standing_in("bound", call=lambda inputs: inputs),
        pytest.raises(BlsnbError, match=r"bound: a stand-in replaces it"),
    ):
        double.evaluate("bound", noted(), workers=2)
    assert len(taken) <= 1


def test_a_missing_model_is_the_error_of_this_process(double: Server) -> None:
    """With workers, too, it is Triton's text."""
    with pytest.raises(InferenceError) as here:
        double.evaluate("absent", rows(1))
    with pytest.raises(InferenceError) as there:
        double.evaluate("absent", rows(1), workers=2)
    assert str(here.value) == str(there.value)


@pytest.mark.parametrize("workers", [0, -1])
def test_an_invalid_number_of_workers_is_refused(double: Server, workers: int) -> None:
    """At least one process is needed."""
    with pytest.raises(ValueError, match="workers"):
        double.evaluate(MODEL, rows(1), workers=workers)
