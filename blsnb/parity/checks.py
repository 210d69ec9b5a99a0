"""Checks: what two servers answered to one request, part by part. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from blsnb.parity.triton.answers import NO_ANSWER, WOULD_HANG, Answer, Answers, Failure
from blsnb.tensors.difference import Change, TensorDifference, difference
from blsnb.tensors.ref import TensorRef
from blsnb.tensors.tolerance import Tolerance

_NOTHING = ""
_FEW = 3
_MOST_TEXT = 60


EXACT = Tolerance()


@dataclass(frozen=True, slots=True)
class Check:
    """One part of an answer, as both servers gave it.

    Parameters
    ----------
    what
        Such as ``"Y"`` or ``"response 2: Y"``.
    ours, theirs
        What each of them gave, in words; empty for nothing.
    words
        In what they differ; or that they do not.
    agrees
        Whether that is parity.
    tensor
        Of an output in what it differs.
    """

    what: str
    ours: str
    theirs: str
    words: str
    agrees: bool
    tensor: TensorDifference | None = None

    def __repr__(self) -> str:
        return f"<{'same' if self.agrees else 'DIFFERENT'} {self.what}: {self.words}>"


def check(
    ours: Answers, theirs: Answers, tolerance: Tolerance = EXACT
) -> tuple[Check, ...]:
    """Return what is alike and what is not, in the order of the answers."""
    return tuple(_checks(ours, theirs, tolerance))


def _checks(ours: Answers, theirs: Answers, tolerance: Tolerance) -> Iterator[Check]:
    if found := _waited(ours.failure, theirs.failure):
        yield found
        return
    mine, real = ours.responses, theirs.responses
    many = max(len(mine), len(real)) > 1
    if len(mine) != len(real):
        yield Check(
            "responses", f"{len(mine):,}", f"{len(real):,}", "not as many", False
        )
    elif moved := _order(mine, real):
        yield moved
        return
    for number, pair in enumerate(zip_longest(mine, real), 1):
        prefix = f"response {number:,}: " if many else ""
        yield from _response(prefix, *pair, tolerance, many)


def _waited(ours: Failure | None, theirs: Failure | None) -> Check | None:
    """Compare requests that at least one server never answers."""
    codes = [each.code if each else "" for each in (ours, theirs)]
    if codes[0] != WOULD_HANG and codes[1] != NO_ANSWER:
        return None
    alike = codes == [WOULD_HANG, NO_ANSWER]
    words = (
        "the real server never answers, as blsnb says"
        if alike
        else "the real server answers"
        if codes[0] == WOULD_HANG
        else "blsnb answers"
    )
    return Check("answer", _failed(ours), _failed(theirs), words, alike)


def _order(ours: Sequence[Answer], theirs: Sequence[Answer]) -> Check | None:
    """Find responses that are the same, but come in another order."""
    mine, real = ([answer.key for answer in each] for each in (ours, theirs))
    places: dict[Any, list[int]] = {}
    for number, key in enumerate(real, 1):
        places.setdefault(key, []).append(number)
    if mine == real or sorted(map(repr, mine)) != sorted(map(repr, real)):
        return None
    order = [places[key].pop(0) for key in mine]
    first = next(n for n, place in enumerate(order, 1) if n != place)
    return Check(
        "order of responses",
        f"response {first} is",
        f"response {order[first - 1]} there",
        f"the same {len(mine):,} responses in another order, from {first:,} on",
        False,
    )


def _response(
    prefix: str,
    ours: Answer | None,
    theirs: Answer | None,
    tolerance: Tolerance,
    many: bool,
) -> Iterator[Check]:
    here, there = ours or Answer(), theirs or Answer()
    if here.failure or there.failure:
        yield from _failures(prefix, here.failure, there.failure)
    before = {ref.name: ref for ref in there.outputs}
    now = {ref.name: ref for ref in here.outputs}
    for name in dict.fromkeys([*now, *before]):
        yield _output(f"{prefix}{name}", now.get(name), before.get(name), tolerance)
    if ours is None or theirs is None:
        return
    if list(now) != list(before) and set(now) == set(before):
        yield _compared(f"{prefix}order of outputs", ", ".join(now), ", ".join(before))
    if here.parameters or there.parameters:
        mine, real = _spelled(here.parameters), _spelled(there.parameters)
        yield _compared(f"{prefix}parameters", mine, real)
    if many and here.final != there.final:
        yield _compared(f"{prefix}final flag", str(here.final), str(there.final))
    if not (now or before or here.failure or there.failure):
        yield _compared(f"{prefix}outputs", "none", "none")


def _failures(
    prefix: str, ours: Failure | None, theirs: Failure | None
) -> Iterator[Check]:
    texts = [_NOTHING if each is None else each.text for each in (ours, theirs)]
    codes = [_NOTHING if each is None else each.code for each in (ours, theirs)]
    if ours is None or theirs is None:
        said = _failed(ours), _failed(theirs)
        yield Check(f"{prefix}error", *said, "one fails alone", False)
        return
    if all(codes):
        yield _compared(f"{prefix}error code", *codes)
    yield _compared(f"{prefix}error text", *texts)


def _compared(what: str, ours: str, theirs: str) -> Check:
    same = ours == theirs
    return Check(what, ours, theirs, "the same" if same else "different", same)


def _failed(failure: Failure | None) -> str:
    if failure is None:
        return "an answer"
    code = "" if failure.code in ("", NO_ANSWER) else f"[{failure.code}] "
    return f"{code}{failure.text}"


def _spelled(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in sorted(parameters.items()))


def _output(
    what: str,
    ours: TensorRef | None,
    theirs: TensorRef | None,
    tolerance: Tolerance,
) -> Check:
    found = difference(ours, theirs)
    near = found.change is Change.VALUES and tolerance.beyond(found) is None
    words = f"{_words(found)}{'; within the tolerance' if near else ''}"
    agrees = near or found.change is Change.SAME
    mine, real = (_described(ref, found.index) for ref in (ours, theirs))
    return Check(what, mine, real, words, agrees, found)


def _described(ref: TensorRef | None, index: tuple[int, ...] | None) -> str:
    """Return datatype and shape, and what is worth telling of the values."""
    if ref is None:
        return _NOTHING
    said = f"{ref.dtype.datatype}[{', '.join(map(str, ref.shape))}]"
    if ref.evicted:
        return said
    view = ref.view()
    if view.size <= _FEW:
        return f"{said}: {', '.join(map(_spell, view.ravel())) or 'no elements'}"
    return said if index is None else f"{said}: {list(index)} = {_spell(view[index])}"


def _words(found: TensorDifference) -> str:
    match found.change:
        case Change.SAME:
            return "the same" if found.count == 1 else f"all {found.count:,} the same"
        case Change.ADDED:
            return "blsnb alone has it"
        case Change.REMOVED:
            return "the real server alone has it"
        case Change.SHAPE:
            return "another shape"
        case Change.DATATYPE:
            return f"another datatype; {_values(found)}"
        case _:
            return _values(found)


def _values(found: TensorDifference) -> str:
    if not found.differing:
        return "values the same" if found.count else "values not compared"
    said = f"{found.differing:,} of {found.count:,} differ"
    if found.index is None:
        return said
    at = f"at {list(found.index)}"
    if found.largest is None:
        return f"{said}, first {at}"
    return f"{said}, most by {found.largest:.6g} {at}"


def _spell(value: Any) -> str:
    """Return a value as a reader wants it: enough digits to tell two apart."""
    if isinstance(value, bytes):
        text = repr(value.decode("utf-8", "backslashreplace"))
    else:
        text = str(value)
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"
