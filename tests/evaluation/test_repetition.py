"""Specification of repeating the worst rows of metrics for their whole runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import Chunk, Row, RowResult
from blsnb.evaluation.repetition import IN_SEQUENCE, repeat_worst, why_never
from blsnb.evaluation.result.gathering import Gathering
from blsnb.evaluation.result.metrics import metric_functions
from blsnb.evaluation.result.page import page_of
from blsnb.evaluation.work.places import HERE, Place
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of

from .models import CALLER, DOUBLE, SEQUENCES, SUMMING, TENSORS

WORKERS = Place(workers=2)


class Repeating:
    """A place that returns what a function makes of each row."""

    def __init__(self, execute: Callable[[Row], RowResult]) -> None:
        self._execute = execute
        self.chunks: list[Chunk] = []

    def results(self, chunks: Iterable[Chunk]) -> Iterator[list[RowResult]]:
        """Yield the results of each chunk."""
        for chunk in chunks:
            self.chunks.append(chunk)
            yield [self._execute(row) for row in chunk.rows]

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def gathering() -> Gathering:
    """Results of five rows; the worst two have no run."""
    metrics = metric_functions({"y": lambda row, outputs: outputs["Y"]}, frozenset())
    gathering = Gathering("m", metrics, keep=2)
    for number in range(5):
        gathering.add(Row(number, {"X": number}), RowResult(number, {"Y": number}))
    return gathering


def test_the_worst_rows_are_repeated_alone_and_whole(gathering: Gathering) -> None:
    """Other rows are not executed again."""
    place = Repeating(lambda row: RowResult(row.number, run=f"run {row.number}"))
    repeat_worst(place, gathering)
    assert [(1, True), (1, True)] == [(len(c.rows), c.whole) for c in place.chunks]
    assert [0, 1] == [chunk.rows[0].number for chunk in place.chunks]
    evaluation = gathering.evaluation(duration_s=1.0)
    assert {0: "run 0", 1: "run 1"} == evaluation.runs
    assert {} == evaluation.without_run


def test_rows_of_sequences_are_left_out_and_named() -> None:
    """A single row of a sequence would meet another state of the model."""
    metrics = metric_functions({"y": lambda row, outputs: 1.0}, frozenset())
    gathering = Gathering("m", metrics)
    gathering.add(Row(0, {}, sequence=7, sequence_start=True), RowResult(0))
    place = Repeating(lambda row: RowResult(row.number))
    repeat_worst(place, gathering)
    assert [] == place.chunks
    evaluation = gathering.evaluation(duration_s=1.0)
    assert {0: IN_SEQUENCE} == evaluation.without_run
    assert f"1 worst row without a whole run (0): {IN_SEQUENCE}." in " ".join(
        page_of(evaluation).notes
    )


def test_stored_results_are_not_executed_again(gathering: Gathering) -> None:
    """A resumed evaluation names its worst rows without a run."""
    gathering.add_stored(Row(5, {}), RowResult(5, {"Y": -1}))
    place = Repeating(lambda row: RowResult(row.number, run="run"))
    repeat_worst(place, gathering)
    assert [0] == [chunk.rows[0].number for chunk in place.chunks]
    without_run = gathering.evaluation(duration_s=1.0).without_run
    assert {5: "its result was stored by an earlier evaluation"} == without_run


def test_a_failed_repetition_is_named(gathering: Gathering) -> None:
    """Its run would not explain the value of the metric."""
    repeat_worst(Repeating(lambda row: RowResult(row.number, error="no")), gathering)
    evaluation = gathering.evaluation(duration_s=1.0)
    assert {} == evaluation.runs
    text = "it failed when it was executed once more: no"
    assert {0: text, 1: text} == evaluation.without_run


def test_a_place_that_breaks_costs_runs_only(gathering: Gathering) -> None:
    """The evaluation has all results."""

    def broken(row: Row) -> RowResult:
        raise BlsnbError("the executor failed")

    repeat_worst(Repeating(broken), gathering)
    evaluation = gathering.evaluation(duration_s=1.0)
    assert 5 == len(evaluation)
    text = "its repetition was stopped: the executor failed"
    assert {0: text, 1: text} == evaluation.without_run


def test_models_with_state_are_named() -> None:
    """A model that may call one counts, too; on this thread all runs are there."""
    with Server() as server:
        parts = parts_of(server)
        server.define("double", SUMMING, config=SEQUENCES)
        server.define("caller", CALLER, config=TENSORS)
        reason = why_never(parts, WORKERS, "caller")
        expected = "double keeps state between requests, so rows are executed once"
        assert expected == reason
        assert "" == why_never(parts, HERE, "caller")
        server.define("double", DOUBLE, config=TENSORS)
        assert "" == why_never(parts, WORKERS, "caller")
        real = Place(server_url="http://127.0.0.1:8000")
        assert "a real server returns no runs" == why_never(parts, real, "caller")
