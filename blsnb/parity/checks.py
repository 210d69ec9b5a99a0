"""Compare what two servers returned for one request, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from blsnb.parity.triton.outcome import (
    NO_RESPONSE,
    WOULD_HANG,
    ClientFailure,
    ClientOutcome,
    ClientResponse,
)
from blsnb.printable import printable
from blsnb.tensors.difference import TensorDifference, ValueChange, difference
from blsnb.tensors.ref import TensorRef
from blsnb.tensors.tolerance import Tolerance

EXACT = Tolerance()
_MAX_VALUES = 3
"""Maximum number of values of a tensor that a description contains."""
_MAX_TEXT = 60
"""Maximum length of one described value, in characters."""


@dataclass(frozen=True, slots=True)
class ParityCheck:
    """One part of an outcome on both servers.

    Parameters
    ----------
    what
        The part, such as ``"Y"`` or ``"response 2: Y"``.
    actual, expected
        Descriptions of the part on blsnb and on the real server; empty if missing.
    verdict
        The difference as text, or a statement of equality.
    agrees
        Whether there is no difference beyond the tolerance.
    tensor
        The difference of an output.
    """

    what: str
    actual: str
    expected: str
    verdict: str
    agrees: bool
    tensor: TensorDifference | None = None

    def __repr__(self) -> str:
        word = "same" if self.agrees else "DIFFERENT"
        return printable(f"<{word} {self.what}: {self.verdict}>")


def check(
    actual: ClientOutcome, expected: ClientOutcome, tolerance: Tolerance = EXACT
) -> tuple[ParityCheck, ...]:
    """Return the compared parts, in the order of the responses."""
    return tuple(_checks(actual, expected, tolerance))


def _checks(
    actual: ClientOutcome, expected: ClientOutcome, tolerance: Tolerance
) -> Iterator[ParityCheck]:
    if hang := _hang(actual.failure, expected.failure):
        yield hang
        return
    ours, theirs = actual.responses, expected.responses
    is_stream = max(len(ours), len(theirs)) > 1
    if len(ours) != len(theirs):
        counts = f"{len(ours):,}", f"{len(theirs):,}"
        yield ParityCheck("number of responses", *counts, "different", False)
    elif reordered := _order(ours, theirs):
        yield reordered
        return
    for number, pair in enumerate(zip_longest(ours, theirs), 1):
        prefix = f"response {number:,}: " if is_stream else ""
        yield from _response(prefix, *pair, tolerance, is_stream)


def _hang(
    actual: ClientFailure | None, expected: ClientFailure | None
) -> ParityCheck | None:
    """Compare requests that at least one server never answers."""
    codes = [each.code if each else "" for each in (actual, expected)]
    if codes[0] != WOULD_HANG and codes[1] != NO_RESPONSE:
        return None
    both = codes == [WOULD_HANG, NO_RESPONSE]
    if both:
        verdict = "the real server never responds, as blsnb reports"
    else:
        server = "the real server" if codes[0] == WOULD_HANG else "blsnb"
        verdict = f"only {server} responds"
    return ParityCheck("response", _outcome(actual), _outcome(expected), verdict, both)


def _order(
    actual: Sequence[ClientResponse], expected: Sequence[ClientResponse]
) -> ParityCheck | None:
    """Return the difference of equal responses in a different order."""
    ours, theirs = ([each.key for each in side] for side in (actual, expected))
    numbers: dict[Any, list[int]] = {}
    for number, key in enumerate(theirs, 1):
        numbers.setdefault(key, []).append(number)
    if ours == theirs or sorted(map(repr, ours)) != sorted(map(repr, theirs)):
        return None
    order = [numbers[key].pop(0) for key in ours]
    first = next(n for n, number in enumerate(order, 1) if n != number)
    return ParityCheck(
        "order of responses",
        f"response {first}",
        f"response {order[first - 1]}",
        f"the same {len(ours):,} responses in a different order, from {first:,} on",
        False,
    )


def _response(
    prefix: str,
    actual: ClientResponse | None,
    expected: ClientResponse | None,
    tolerance: Tolerance,
    is_stream: bool,
) -> Iterator[ParityCheck]:
    ours, theirs = actual or ClientResponse(), expected or ClientResponse()
    if ours.failure or theirs.failure:
        yield from _failures(prefix, ours.failure, theirs.failure)
    mine = {ref.name: ref for ref in ours.outputs}
    real = {ref.name: ref for ref in theirs.outputs}
    for name in dict.fromkeys([*mine, *real]):
        yield _output(f"{prefix}{name}", mine.get(name), real.get(name), tolerance)
    if actual is None or expected is None:
        return
    if list(mine) != list(real) and set(mine) == set(real):
        yield _texts(f"{prefix}order of outputs", ", ".join(mine), ", ".join(real))
    if ours.parameters or theirs.parameters:
        texts = _parameters(ours.parameters), _parameters(theirs.parameters)
        yield _texts(f"{prefix}parameters", *texts)
    if is_stream and ours.final != theirs.final:
        yield _texts(f"{prefix}final flag", str(ours.final), str(theirs.final))
    if not (mine or real or ours.failure or theirs.failure):
        yield _texts(f"{prefix}outputs", "none", "none")


def _failures(
    prefix: str, actual: ClientFailure | None, expected: ClientFailure | None
) -> Iterator[ParityCheck]:
    if actual is None or expected is None:
        server = "the real server" if actual is None else "blsnb"
        texts = _outcome(actual), _outcome(expected)
        yield ParityCheck(f"{prefix}error", *texts, f"only on {server}", False)
        return
    if actual.code and expected.code:
        yield _texts(f"{prefix}error code", actual.code, expected.code)
    yield _texts(f"{prefix}error text", actual.text, expected.text)


def _texts(what: str, actual: str, expected: str) -> ParityCheck:
    same = actual == expected
    return ParityCheck(
        what, actual, expected, "the same" if same else "different", same
    )


def _outcome(failure: ClientFailure | None) -> str:
    if failure is None:
        return "a response"
    code = "" if failure.code in ("", NO_RESPONSE) else f"[{failure.code}] "
    return f"{code}{failure.text}"


def _parameters(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in sorted(parameters.items()))


def _output(
    what: str,
    actual: TensorRef | None,
    expected: TensorRef | None,
    tolerance: Tolerance,
) -> ParityCheck:
    found = difference(actual, expected)
    tolerated = found.change is ValueChange.VALUES and tolerance.beyond(found) is None
    verdict = f"{_verdict(found)}{'; within the tolerance' if tolerated else ''}"
    agrees = tolerated or found.change is ValueChange.SAME
    ours, theirs = (_described(ref, found.index) for ref in (actual, expected))
    return ParityCheck(what, ours, theirs, verdict, agrees, found)


def _described(ref: TensorRef | None, index: tuple[int, ...] | None) -> str:
    """Return datatype, shape, and a few values or the one that differs most."""
    if ref is None:
        return ""
    kind = f"{ref.dtype.datatype}[{', '.join(map(str, ref.shape))}]"
    if ref.evicted:
        return kind
    view = ref.view()
    if view.size <= _MAX_VALUES:
        return f"{kind}: {', '.join(map(_value, view.ravel())) or 'no elements'}"
    return kind if index is None else f"{kind}: {list(index)} = {_value(view[index])}"


def _verdict(found: TensorDifference) -> str:
    match found.change:
        case ValueChange.SAME:
            return "the same" if found.count == 1 else f"all {found.count:,} the same"
        case ValueChange.ADDED:
            return "only on blsnb"
        case ValueChange.REMOVED:
            return "only on the real server"
        case ValueChange.SHAPE:
            return "different shape"
        case ValueChange.DATATYPE:
            return f"different datatype; {_values(found)}"
        case ValueChange.VALUES | ValueChange.UNKNOWN:
            return _values(found)


def _values(found: TensorDifference) -> str:
    if not found.differing:
        return "values the same" if found.count else "values not compared"
    differing = f"{found.differing:,} of {found.count:,} differ"
    if found.index is None:
        return differing
    at = f"at {list(found.index)}"
    if found.largest is None:
        return f"{differing}, first {at}"
    return f"{differing}, most by {found.largest:.6g} {at}"


def _value(value: Any) -> str:
    """Return a value with enough digits to tell two values from each other."""
    if isinstance(value, bytes):
        text = repr(value.decode("utf-8", "backslashreplace"))
    else:
        text = str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
