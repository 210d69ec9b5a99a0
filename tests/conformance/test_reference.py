"""The reference is the real server, without the effects of a busy machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from blsnb.parity.triton.server_process import ServerDiedError

from .reference import RECORD, TRIES, Golden, Reference


class FakeServer:
    """It counts for as long as it runs."""

    def __init__(self) -> None:
        self.counted = 0

    def surviving(self, work: Callable[[], Any]) -> Any:
        self.counted += 1
        return work()

    def start_again(self) -> None:
        self.counted = 0


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Reference:
    """A server that once returned ``right`` for the case ``known``."""
    monkeypatch.delenv(RECORD, raising=False)
    golden = Golden({"module": {"python": "3.11", "answers": {"known": "right"}}})
    return Reference(cast("Any", FakeServer()), golden)


def case_of(answers: Iterator[Any]) -> Callable[[object], Any]:
    """Return a case with a given sequence of results."""

    def case(_: object) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return case


@pytest.mark.parametrize("spoiled", ["late", TimeoutError()])
def test_what_was_spoiled_is_asked_again(reference: Reference, spoiled: Any) -> None:
    """Two results differ here; the one that equals the record ends the repetition."""
    answers = iter([spoiled, spoiled, "right", "never"])

    assert "right" == reference.live("module", "known", case_of(answers))
    assert ["never"] == list(answers)


def test_a_repetition_does_not_count_what_was_before_it(reference: Reference) -> None:
    """The counters of the real server outlive the models that they count."""
    reference.golden.read("module")["answers"]["counts"] = ["right", 1]
    answers = iter(["late", "right"])

    def case(server: Any) -> list[Any]:
        return [next(answers), server.counted]

    assert ["right", 1] == reference.live("module", "counts", case)


def test_what_it_says_every_time_is_what_it_says(reference: Reference) -> None:
    """Then its record is old, and the test of it fails."""
    answers = iter(["new"] * TRIES)

    assert "new" == reference.live("module", "known", case_of(answers))
    assert [] == list(answers)


def test_of_a_server_that_dies_each_time_the_record_counts(
    reference: Reference,
) -> None:
    """The case does not run again, and does not count as confirmed."""
    answers = iter([ServerDiedError("often"), "never"])

    assert "right" == reference.live("module", "known", case_of(answers))
    assert not reference.is_live("module", "known")
    assert reference.is_live("module", "another")
    assert ["never"] == list(answers)


def test_an_error_that_stays_is_told(reference: Reference) -> None:
    """It is raised as the case raised it."""
    answers = iter([ValueError(number) for number in range(TRIES)])

    with pytest.raises(ValueError, match="2"):
        reference.live("module", "known", case_of(answers))


def test_a_case_without_a_record_is_asked_once(reference: Reference) -> None:
    """There is no record to compare with, also for a second test."""
    answers = iter(["new", "never"])

    for _ in range(2):
        assert "new" == reference.live("module", "unknown", case_of(answers))
