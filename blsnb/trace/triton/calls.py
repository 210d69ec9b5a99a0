"""Convert the requests of a Triton trace file to traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from blsnb.trace.capture import trace_of
from blsnb.trace.events import Activity, Call, CallFlag, LogLine, ModelInfo, by_start
from blsnb.trace.folding import FoldedCounts, fold
from blsnb.trace.gaps import Gaps
from blsnb.trace.lazy.call_fields import TIMES
from blsnb.trace.recorder import KEEP_CALLS, KEEP_RESPONSES
from blsnb.trace.responses import ResponseLog
from blsnb.trace.spans import Trace
from blsnb.trace.triton.json_form import STAMP_LEVEL
from blsnb.trace.triton.requests import TritonRequest, TritonRequests

REJECTED = (
    "This request was rejected before any model computed it. A Triton "
    "trace file does not contain the reason."
)
NO_END = (
    "The file does not contain this request's REQUEST_END: its last known time is "
    "shown as its end."
)
NO_METADATA = "The file contains requests of this one, but not the request itself."
NO_TIMES = "The file contains no timestamps of this request."
NO_OUTPUTS = (
    "The file contains no outputs of this request. It may have failed: a Triton trace "
    "file contains no errors."
)
CIRCLE = "In the file this request is its own ancestor; the cycle is cut here."

_NO_MODEL = "model not in the file"
_FURTHER = ModelInfo("further models", -1, "", "", "model", "")
# The view numbers models in two bytes.
_MAX_MODELS = 10_000
_MAX_BYTES = 1 << 40
_MAX_ID = (1 << 31) - 1

_Callers = Mapping[int, int | None]


def traces_of(requests: TritonRequests) -> list[Trace]:
    """Return a trace for each client request, in the order of their starts."""
    callers = requests.callers()
    families: dict[int, list[Call]] = defaultdict(list)
    calls: dict[int, Call] = {}
    roots: dict[int, int] = {}
    models = _models(requests, callers)
    for number in _callers_first(callers):
        caller = callers[number]
        above = None if caller is None else calls[caller]
        root = roots[number] = number if caller is None else roots[caller]
        call = Call(models[number], above, number - root)
        _fill(call, requests[number])
        if number in requests.circles:
            _note(call, CIRCLE)
        calls[number] = call
        families[root].append(call)
    _close(requests, calls)
    found = [_trace(root, family) for root, family in families.items()]
    return sorted(found, key=lambda trace: trace.start_ns)


def _callers_first(callers: _Callers) -> list[int]:
    """Return all numbers in order, callers before their calls."""
    below: dict[int | None, list[int]] = defaultdict(list)
    for number in sorted(callers):
        below[callers[number]].append(number)
    order = list(below[None])
    for number in order:
        order.extend(below[number])
    return order


def _models(requests: TritonRequests, callers: _Callers) -> dict[int, ModelInfo]:
    """Return each request's model, as far as the file contains it."""
    named = {number: _name(requests[number]) for number in callers}
    computing = {
        named[number]
        for number in callers
        if Activity.COMPUTE_START in requests[number].times
    }
    # A model that makes requests and computes nothing is an ensemble.
    composing = {named[caller] for caller in callers.values() if caller is not None}
    known: dict[tuple[str, int], ModelInfo] = {}
    for name in dict.fromkeys(named.values()):
        ensemble = name in composing - computing and name[0] != _NO_MODEL
        backend = "ensemble" if ensemble else ""
        known[name] = ModelInfo(*name, backend, "", "model", "")
    return {number: known[name] for number, name in named.items()}


def _name(request: TritonRequest) -> tuple[str, int]:
    known = request.metadata
    return (_NO_MODEL, -1) if known is None else (known.model_name, known.model_version)


def _fill(call: Call, request: TritonRequest) -> None:
    above = 0 if call.parent is None else call.parent.request_start_ns
    for name, activity in zip(TIMES, Activity, strict=True):
        setattr(call, name, request.times.get(activity, 0))
    call.request_start_ns = request.start_ns or above
    call.inputs = tuple(request.inputs)
    call.logs = [
        LogLine(stamp.ns, STAMP_LEVEL, stamp.name)
        for stamp in sorted(request.others, key=lambda stamp: stamp.ns)
    ]
    if request.metadata is None:
        _note(call, NO_METADATA)
    else:
        known = request.metadata
        call.request_fields = known.fields._replace(request_id=known.request_id)
    _answer(call, request)
    if not call.request_end_ns:
        _note_end(call, request)


def _note_end(call: Call, request: TritonRequest) -> None:
    if request.times and not request.rejected:
        _note(call, NO_END)
    elif request.metadata is not None and not request.times:
        _note(call, NO_TIMES)


def _answer(call: Call, request: TritonRequest) -> None:
    responses = request.responses()
    said = request.metadata.response_parameters if request.metadata else ()
    if len(said) != max(1, len(responses)):
        said = ((),) * len(responses)
    if len(responses) > 1:
        call.flags |= CallFlag.DECOUPLED
        call.responses = ResponseLog(KEEP_RESPONSES, _MAX_BYTES)
        for (ns, outputs), parameters in zip(responses, said, strict=True):
            call.responses.add(ns, outputs, "", parameters)
    elif said:
        call.outputs = responses[0][1] if responses else ()
        call.response_parameters = said[0]
    if request.rejected:
        call.flags |= CallFlag.ERROR
        call.error = REJECTED
    elif request.inputs and not responses:
        _note(call, NO_OUTPUTS)


def _close(requests: TritonRequests, calls: Mapping[int, Call]) -> None:
    """Set start and end of each call, if necessary from the calls that it made."""
    below: dict[Call, tuple[int, int]] = {}
    for number, call in reversed(list(calls.items())):
        first, last = below.get(call, (0, 0))
        start_ns = call.request_start_ns or first or 1
        known_ns = max(last, start_ns, requests[number].last_ns)
        end_ns = call.request_end_ns or known_ns
        call.request_start_ns, call.request_end_ns = start_ns, end_ns
        call.ended = True
        if call.parent is not None:
            first, last = below.get(call.parent, (start_ns, end_ns))
            below[call.parent] = min(first, start_ns), max(last, end_ns)


def _note(call: Call, text: str) -> None:
    call.notes = [*(call.notes or ()), text]


def _is_numbered(call: Call) -> bool:
    """Return whether the number of a call in the file can be its id."""
    return (-1 if call.parent is None else call.parent.id) < call.id <= _MAX_ID


def limit_models(calls: Iterable[Call]) -> None:
    """Give all but the first models of calls one name."""
    known = dict.fromkeys(call.model for call in calls)
    kept = set(list(known)[:_MAX_MODELS])
    for call in calls:
        if call.model not in kept:
            call.model = _FURTHER


def _trace(root: int, calls: list[Call]) -> Trace:
    """Return the trace of a client request."""
    calls = by_start(calls)
    if not all(map(_is_numbered, calls)):
        for place, call in enumerate(calls):
            call.id = place
    limit_models(calls)
    folded, gaps = FoldedCounts(), Gaps()
    if len(calls) > KEEP_CALLS:
        before = list(calls)
        leaving = fold(calls, KEEP_CALLS)
        folded.add(leaving)
        gaps.open(before, set(leaving))
    end_ns = max(call.request_end_ns for call in calls)
    counts = folded.listed()
    return trace_of(f"triton-{root}", calls, end_ns, folded=counts, gaps=gaps)
