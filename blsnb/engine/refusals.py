"""Errors, with Triton's texts, for requests that no model receives."""

from __future__ import annotations

import re

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request.inflight import Caller
from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.trace.events import Call, CallFlag
from blsnb.trace.recorder import Recorder

_INT64 = range(-(2**63), 2**63)
_VERSION = re.compile(r"[ \t-\r]*([+-]?)(?=[0-9])0*([0-9]{0,20})")
"""A number as C reads it. Python refuses very long ones: further digits are left out,
since any number of 20 is too large.
"""
NOT_READY = "Failed for execute the inference request. Model '{}' is not ready."


def not_submitted(name: str, reason: str, keeps_codes: bool) -> ResponseMessage:
    """Return the response to a BLS request that was refused.

    Parameters
    ----------
    keeps_codes
        Whether the followed release keeps the code of the target (25.04 and later);
        earlier releases check readiness first, with another text.
    """
    if reason.startswith("Request for unknown model") and not keeps_codes:
        reason = NOT_READY.format(name)
    return ResponseMessage(
        error=f"Model {name} - Error when running inference: {reason}"
    )


def late_refusal(
    message: RequestMessage, caller: Caller, error: RequestError, keeps_codes: bool
) -> ResponseMessage:
    """Return the response to a request that was refused after it had started."""
    if caller.is_client:
        return ResponseMessage(error=error.message, code=error.code)
    return not_submitted(message.model_name, error.message, keeps_codes)


def decoupled_refusal(message: RequestMessage, caller: Caller) -> RequestError:
    """Return the refusal of a call that expects one response of a decoupled model."""
    if caller.is_client:
        return RequestError(
            "ModelInfer RPC doesn't support models with decoupled transaction policy",
            "UNSUPPORTED",
            f"Use blsnb.stream({message.model_name!r}, …): it iterates over the "
            "responses.",
        )
    # The quotation mark at the end is Triton's.
    return RequestError(
        f"Model {message.model_name} is using the decoupled. The current BLS request "
        "call doesn't support models using the decoupled transaction policy. Please "
        "use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for "
        "decoupled models.'"
    )


def close_refused(
    recorder: Recorder,
    call: Call,
    message: RequestMessage,
    caller: Caller,
    error: RequestError,
) -> None:
    """Close the record of a refused request."""
    call.request_fields = message.fields
    call.requested_outputs = message.requested_outputs
    call.line = caller.line
    call.flags = caller.flags | CallFlag.ERROR
    call.error = error.message
    call.error_code = error.code
    if error.advice:
        call.notes = [error.advice]
    now = CLOCK.now_ns()
    # The call of a request that a scheduler refuses has started before.
    call.request_start_ns = call.request_start_ns or now
    # Last: a call with an end is complete for readers.
    call.request_end_ns = now
    recorder.close(caller.root.record, call, message.inputs, ())


def parse_version(text: str) -> int:
    """Return the requested version; -1 without one: the server chooses.

    References
    ----------
    server: src/common.cc, GetModelVersionFromString
    """
    number = read_version(text) if text else -1
    if text and number < 0:
        raise _not_a_version(text)
    return number


def read_version(text: str) -> int:
    """Return the number in a requested version, which may be negative."""
    found = _VERSION.match(text)
    if found and (number := int(f"{found[1]}0{found[2]}")) in _INT64:
        return number
    raise _not_a_version(text, " (details: stol)")


def _not_a_version(text: str, details: str = "") -> RequestError:
    return RequestError(
        f"failed to get model version from specified version string '{text}'{details}, "
        "version should be an integral value > 0"
    )
