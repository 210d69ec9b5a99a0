"""The same requests on blsnb and on a running real server, compared."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.errors import RepositoryError, TritonServerError
from blsnb.inference_server import Server
from blsnb.release import TRITON_RELEASE

from . import models

pytestmark = pytest.mark.triton_server


def differences(parity) -> list[tuple[str, str]]:
    """Return part and verdict of each difference."""
    return [(each.check.what, each.check.verdict) for each in parity.differences]


def test_equal_outcomes_agree(ours, address):
    """Values, codes, and texts apart from their folders, are equal."""
    cases = [{"inputs": {"X": [0.5] * size}} for size in (1, 2)]
    parity = ours.compare(
        "outer",
        {"X": np.linspace(0, 1, 50)[:40].astype("f4")},
        target=address,
        cases=[*cases, {"inputs": {}}, {"inputs": {"X": [1.0]}, "version": 7}],
    )

    assert (True, 0, []) == (parity.agree, parity.exit_code, parity.differences)
    assert "<Parity outer: 5 cases, no difference; 4 failed on both servers>" == repr(
        parity
    )
    caption, *errors = str(parity).splitlines()
    assert (
        "outer on blsnb and Triton 2.51.0: 5 cases, no difference; "
        "4 failed on both servers"
    ) == caption
    assert [
        "case 2: INTERNAL: Failed to process the request(s) for model 'outer_0', "
        "message: ValueError: one of 1",
        "case 3: NOT_FOUND: two",
        "case 4: INVALID_ARG: [request id: <id_unknown>] expected 1 inputs but got 0 "
        "inputs for model 'outer'. Got input(s) [], but missing required input(s) "
        "['X']. Please provide all required input(s).",
        "case 5: NOT_FOUND: Request for unknown model: 'outer' version 7 is not found",
    ] == errors
    assert ["all 40 the same"] == [each.verdict for each in parity.cases[0].checks]
    [code, text] = parity.cases[1].checks
    assert ("INTERNAL", "INTERNAL") == (code.actual, code.expected)
    assert "ValueError: one of 1" in text.expected
    assert "<repository>/outer/1/model.py" in text.actual


def test_each_kind_of_difference_is_found(ours, address):
    """Different values have their largest deviation and its index."""
    cases = [{"inputs": {"X": [1.0] * size}} for size in range(3, 8)]
    parity = ours.compare("outer", cases=cases, target=address)

    assert [
        ("Y", "1 of 3 differ, most by 0.25 at [1]"),
        ("Y", "different datatype; values the same"),
        ("Y", "different shape"),
        ("error text", "different"),
        ("Y", "only on blsnb"),
    ] == [each for each in differences(parity) if each[0] != "error"]
    [first] = [each.check for each in parity.differences if each.case == "case 1"]
    assert (1,) == first.tensor.index
    assert "FP32[3]: 0.841471, 1.091471, 0.841471" == first.expected
    assert (False, 1) == (parity.agree, parity.exit_code)
    assert "<Parity outer: 5 of 5 cases differ>" == repr(parity)


@pytest.mark.parametrize(("atol", "agrees"), [(0.24, False), (0.26, True)])
def test_values_within_the_tolerance_agree(ours, address, atol, agrees):
    """The deviation is reported in any case."""
    parity = ours.compare("outer", {"X": [1.0] * 3}, target=address, atol=atol)

    assert agrees is parity.agree
    assert "most by 0.25 at [1]" in parity.cases[0].checks[0].verdict


def test_a_stream_is_compared_response_by_response(ours, address):
    """The order of responses, their number and their errors are compared."""
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
        ("order of responses", "the same 4 responses in a different order, from 2 on")
    ] == [(each.what, each.verdict) for each in moved.checks]
    assert ("number of responses", "4", "3") == (
        short.checks[0].what,
        short.checks[0].actual,
        short.checks[0].expected,
    )
    assert "three" in [each.expected for each in failed.checks]


def test_a_hang_agrees_with_a_missing_response(ours, address):
    """Further cases are skipped, since the instance is busy."""
    cases = [{"inputs": {"X": [4.0]}}, {"inputs": {"X": [0.0]}}]
    parity = ours.compare("stream", cases=cases, target=address, timeout_s=0.5)

    [check] = parity.cases[0].checks
    assert (True, "the real server never responds, as blsnb reports") == (
        check.agrees,
        check.verdict,
    )
    assert ["1 further case was not sent to the real server"] == list(parity.notes)


def test_a_response_after_the_time_limit_is_a_difference(ours, address):
    """A client's own timeout is an error of the request instead."""
    parity = ours.compare("slow", {"X": [2.0]}, target=address, timeout_s=0.3)
    [difference] = parity.differences

    assert ("response", "no response within 0.3 s") == (
        difference.check.what,
        difference.check.expected,
    )
    parity = ours.compare("slow", {"X": [2.0]}, target=address, client_timeout_s=0.3)
    assert (
        "[DEADLINE_EXCEEDED] Deadline Exceeded" == parity.differences[0].check.expected
    )


def test_both_runs_are_available(ours, address):
    """That of a remote server has the times of its client."""
    parity = ours.compare("outer", {"X": [1.0] * 8}, target=address, request_id="r1")

    assert ["outer", "sine"] == [model.name for model in parity.run.trace.models]
    assert ["outer"] == [model.name for model in parity.real_run.trace.models]
    assert parity.run["Y"].tolist() == parity.real_run["Y"].tolist()
    assert "the times were measured by its client" in parity.real_run.trace.remarks[0]
    assert [1] == list(parity.comparison.trace.alignment.new)
    assert [] == ours.runs


def test_unreachable_targets_and_unknown_models_are_refused(ours, address):
    """Each error names the address or the model."""
    with pytest.raises(TritonServerError, match=r"127\.0\.0\.1:9 does not respond: "):
        ours.compare("slow", {"X": [0.0]}, target="grpc://127.0.0.1:9")
    ours.define("extra", "class TritonPythonModel:\n pass\n", config="")
    with pytest.raises(TritonServerError) as not_ready:
        ours.compare("extra", {}, target=address)
    assert (f"model 'extra' is not ready at {address}", "Load it there first.") == (
        not_ready.value.message,
        not_ready.value.advice,
    )
    with pytest.raises(
        ValueError,
        match=r"target='http://x:1' is not valid; expected 'local', or "
        r"an address such as 'grpc://localhost:8001'$",
    ):
        ours.compare("slow", {"X": [0.0]}, target="http://x:1")
    with pytest.raises(RepositoryError, match="no model 'none'; there are: extra"):
        ours.compare("none", {})


def test_a_different_release_is_noted_beside_differences(ours, address):
    """It may explain them."""
    cases = [{"inputs": {"X": [1.0] * size}} for size in (3, 8)]
    with Server() as newest:
        models.define(newest)
        both = [newest.compare("outer", cases=[each], target=address) for each in cases]

    assert [
        [
            "the real server is release 24.10, and blsnb follows release "
            f"{TRITON_RELEASE}: see Server(triton_release='24.10')"
        ],
        [],
    ] == [list(parity.notes) for parity in both]


def test_models_with_stand_ins_are_refused(ours, address):
    """The model itself may have one, or a model that it calls."""
    ours.standin("sine", zeros=True)

    refused = (
        r"cannot be compared: it uses a stand-in for 'sine' \(zeros\), and a real "
        "server has no stand-ins"
    )
    for name in ("sine", "outer"):
        with pytest.raises(RepositoryError, match=f"^'{name}' {refused}$"):
            ours.compare(name, {"X": [1.0] * 8}, target=address)
