"""The same requests here and on a real server that runs: what differs is found."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.errors import RepositoryError, TritonServerError
from blsnb.inference_server import Server

from . import models

pytestmark = pytest.mark.triton_server


def differences(parity) -> list[tuple[str, str]]:
    """What differs, and how."""
    return [(each.check.what, each.check.words) for each in parity.differences]


def test_what_is_the_same_agrees(ours, address):
    """Values, codes, and texts but for the folders in them."""
    cases = [{"inputs": {"X": [0.5] * size}} for size in (1, 2)]
    parity = ours.compare(
        "outer",
        {"X": np.linspace(0, 1, 50)[:40].astype("f4")},
        target=address,
        cases=[*cases, {"inputs": {}}, {"inputs": {"X": [1.0]}, "version": 7}],
    )

    assert (True, 0, []) == (parity.agree, parity.exit_code, parity.differences)
    assert "<Parity outer: 5 cases, all the same; 4 failed>" == repr(parity)
    assert "outer beside Triton 2.51.0: 5 cases, all the same; 4 failed" == str(parity)
    assert ["all 40 the same"] == [each.words for each in parity.cases[0].checks]
    [code, text] = parity.cases[1].checks
    assert ("INTERNAL", "INTERNAL") == (code.ours, code.theirs)
    assert "ValueError: one of 1" in text.theirs
    assert "<repository>/outer/1/model.py" in text.ours


def test_each_kind_of_difference_is_named(ours, address):
    """And of values the largest deviation, with its place."""
    cases = [{"inputs": {"X": [1.0] * size}} for size in range(3, 8)]
    parity = ours.compare("outer", cases=cases, target=address)

    assert [
        ("Y", "1 of 3 differ, most by 0.25 at [1]"),
        ("Y", "another datatype; values the same"),
        ("Y", "another shape"),
        ("error text", "different"),
        ("Y", "blsnb alone has it"),
    ] == [each for each in differences(parity) if each[0] != "error"]
    [first] = [each.check for each in parity.differences if each.case == "case 1"]
    assert (1,) == first.tensor.index
    assert "FP32[3]: 0.841471, 1.091471, 0.841471" == first.theirs
    assert (False, 1) == (parity.agree, parity.exit_code)
    assert "<Parity outer: 5 of 5 cases differ>" == repr(parity)


@pytest.mark.parametrize(("atol", "agrees"), [(0.24, False), (0.26, True)])
def test_values_within_the_tolerance_agree(ours, address, atol, agrees):
    """What they differ by is told all the same."""
    parity = ours.compare("outer", {"X": [1.0] * 3}, target=address, atol=atol)

    assert agrees is parity.agree
    assert "most by 0.25 at [1]" in parity.cases[0].checks[0].words


def test_a_stream_is_compared_response_by_response(ours, address):
    """Its order counts, its length, and its errors."""
    cases = [{"inputs": {"X": [float(kind)]}} for kind in range(4)]
    parity = ours.compare("stream", cases=cases, target=address)
    same, moved, short, failed = parity.cases

    assert (True, True) == (same.agree, failed.agree)
    assert [
        "response 1: Y",
        "response 2: Y",
        "response 3: Y",
        "response 4: outputs",
    ] == [each.what for each in same.checks]
    assert [
        ("order of responses", "the same 4 responses in another order, from 2 on")
    ] == [(each.what, each.words) for each in moved.checks]
    assert ("responses", "4", "3") == (
        short.checks[0].what,
        short.checks[0].ours,
        short.checks[0].theirs,
    )
    assert "three" in [each.theirs for each in failed.checks]


def test_what_never_answers_there_and_would_hang_here_agrees(ours, address):
    """It is the answer; further cases are left out, since the instance is busy."""
    cases = [{"inputs": {"X": [4.0]}}, {"inputs": {"X": [0.0]}}]
    parity = ours.compare("stream", cases=cases, target=address, timeout_s=0.5)

    [check] = parity.cases[0].checks
    assert (True, "the real server never answers, as blsnb says") == (
        check.agrees,
        check.words,
    )
    assert ["1 further cases were not asked of the real server"] == list(parity.notes)


def test_a_real_server_that_takes_too_long_is_a_difference(ours, address):
    """The text says how long it was waited for; a client's own deadline is its own."""
    parity = ours.compare("slow", {"X": [2.0]}, target=address, timeout_s=0.3)
    [difference] = parity.differences

    assert ("answer", "no answer within 0.3 s") == (
        difference.check.what,
        difference.check.theirs,
    )
    parity = ours.compare("slow", {"X": [2.0]}, target=address, client_timeout_s=0.3)
    assert "[DEADLINE_EXCEEDED] Deadline Exceeded" == parity.differences[0].check.theirs


def test_both_runs_can_be_looked_at(ours, address):
    """Of a server elsewhere there is what its client saw."""
    parity = ours.compare("outer", {"X": [1.0] * 8}, target=address, request_id="r1")

    assert ["outer", "sine"] == [model.name for model in parity.run.trace.models]
    assert ["outer"] == [model.name for model in parity.real_run.trace.models]
    assert parity.run["Y"].tolist() == parity.real_run["Y"].tolist()
    assert "the times are those of its client" in parity.real_run.trace.remarks[0]
    assert [1] == list(parity.comparison.trace.alignment.new)
    assert [] == ours.runs


def test_what_cannot_be_asked_is_refused_by_name(ours, address):
    """A server that is not there, a model that it has not, an address that is none."""
    with pytest.raises(TritonServerError, match=r"127\.0\.0\.1:9 does not answer: "):
        ours.compare("slow", {"X": [0.0]}, target="grpc://127.0.0.1:9")
    ours.define("extra", "class TritonPythonModel:\n pass\n", config="")
    with pytest.raises(TritonServerError, match="'extra' is not ready at grpc://127"):
        ours.compare("extra", {}, target=address)
    with pytest.raises(ValueError, match="'http://x:1' is no target"):
        ours.compare("slow", {"X": [0.0]}, target="http://x:1")
    with pytest.raises(RepositoryError, match="no model 'none'; there are: extra"):
        ours.compare("none", {})


def test_a_release_that_is_another_one_is_noted_where_something_differs(ours, address):
    """It may be why."""
    cases = [{"inputs": {"X": [1.0] * size}} for size in (3, 8)]
    with Server() as newest:
        models.define(newest)
        both = [newest.compare("outer", cases=[each], target=address) for each in cases]

    assert [1, 0] == [len(parity.notes) for parity in both]
    assert "the real server is release 24.10, and this one" in both[0].notes[0]


def test_a_stand_in_is_refused_wherever_it_answers(ours, address):
    """Of the model itself, and of one that it calls."""
    ours.standin("sine", zeros=True)

    refused = "cannot be compared: a stand-in answers for 'sine' \\(zeros\\)"
    for name in ("sine", "outer"):
        with pytest.raises(RepositoryError, match=f"'{name}' {refused}"):
            ours.compare(name, {"X": [1.0] * 8}, target=address)
