"""Errors, with Triton's texts, for requests that no model receives."""

from __future__ import annotations

import pytest

from blsnb.engine.refusals import (
    close_refused,
    decoupled_refusal,
    late_refusal,
    not_submitted,
    parse_version,
)
from blsnb.engine.request.inflight import Caller
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.recorder import Recorder

MESSAGE = RequestMessage("m", (), ("Y",), RequestFields(request_id="7"))
FAILED = "Model m - Error when running inference: "
UNKNOWN = "Request for unknown model: 'm' is not found"


def caller(is_client: bool) -> Caller:
    """Return a caller without a request of its own."""
    return Caller(None, None, None, 12, CallFlag.ASYNC, is_client)


@pytest.mark.parametrize(
    ("keeps_codes", "reason", "text"),
    [
        (True, UNKNOWN, UNKNOWN),
        (
            False,
            UNKNOWN,
            "Failed for execute the inference request. Model 'm' is not ready.",
        ),
        (True, "no", "no"),
        (False, "no", "no"),
    ],
)
def test_a_refused_bls_request_has_an_error_response(keeps_codes, reason, text):
    """Earlier releases check first whether the model is ready."""
    response = not_submitted("m", reason, keeps_codes)
    late = late_refusal(
        MESSAGE, caller(False), RequestError(reason, "NOT_FOUND"), keeps_codes
    )

    assert ("INTERNAL", FAILED + text) == (response.code, response.error)
    assert ("INTERNAL", FAILED + text) == (late.code, late.error)


def test_a_client_receives_the_error_itself():
    """Its code stays."""
    error = RequestError(UNKNOWN, "NOT_FOUND")
    response = late_refusal(MESSAGE, caller(True), error, keeps_codes=False)

    assert ("NOT_FOUND", UNKNOWN) == (response.code, response.error)


def test_one_response_of_a_decoupled_model_is_refused():
    """The client is advised to read a stream."""
    client = decoupled_refusal(MESSAGE, caller(True))
    model = decoupled_refusal(MESSAGE, caller(False))

    assert (
        "ModelInfer RPC doesn't support models with decoupled transaction policy",
        "UNSUPPORTED",
        "Use blsnb.stream('m', …): it iterates over the responses.",
    ) == (client.message, client.code, client.advice)
    assert (
        "Model m is using the decoupled. The current BLS request call doesn't support "
        "models using the decoupled transaction policy. Please use 'decoupled=True' "
        "argument to the 'exec' or 'async_exec' calls for decoupled models.'",
        "INVALID_ARG",
        "",
    ) == (model.message, model.code, model.advice)


@pytest.mark.parametrize("begun_ns", [0, 5])
@pytest.mark.parametrize("advice", ["", "do"])
def test_a_refused_request_has_a_complete_record(begun_ns, advice):
    """It starts when it is refused, unless a scheduler did so later."""
    recorder = Recorder()
    root = RootRequest(recorder.begin(), 10)
    info = ModelInfo("m", 1, "python", "cpu", "m", "")
    call = recorder.open(root.record, info, None)
    call.request_start_ns = begun_ns
    refused = RequestError("no", "NOT_FOUND", advice)
    caller = Caller(root, None, None, 12, CallFlag.ASYNC)
    close_refused(recorder, call, MESSAGE, caller, refused)

    assert call.ended
    assert (MESSAGE.fields, ("Y",), 12) == (
        call.request_fields,
        call.requested_outputs,
        call.line,
    )
    assert CallFlag.ASYNC | CallFlag.ERROR == call.flags
    assert ("no", "NOT_FOUND") == (call.error, call.error_code)
    assert ([advice] if advice else None) == call.notes
    assert call.request_end_ns > 5
    assert (begun_ns or call.request_end_ns) == call.request_start_ns


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", -1),
        ("0", 0),
        ("-0", 0),
        ("+3", 3),
        (" \t3", 3),
        ("3abc", 3),
        ("007", 7),
        ("0" * 98 + "7", 7),
        ("0" * 5000 + "7", 7),
        (" " * 150 + "7", 7),
        ("-" + "0" * 150, 0),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_a_version_is_read_as_c_does(text, number):
    """What follows the digits is ignored."""
    assert number == parse_version(text)


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("-1", ""),
        (str(-(2**63)), ""),
        (str(-(2**63) - 1), " (details: stol)"),
        (str(2**63), " (details: stol)"),
        ("9" * 5000, " (details: stol)"),
        ("abc", " (details: stol)"),
        ("- 1", " (details: stol)"),
        ("\u0661", " (details: stol)"),
        ("\u00a03", " (details: stol)"),
        ("\x1c1", " (details: stol)"),
    ],
)
def test_a_version_that_is_no_number_is_refused(text, details):
    """Triton names the function that does not read it."""
    with pytest.raises(RequestError) as caught:
        parse_version(text)

    assert (
        f"failed to get model version from specified version string '{text}'{details}, "
        "version should be an integral value > 0",
        "INVALID_ARG",
    ) == (caught.value.message, caught.value.code)
