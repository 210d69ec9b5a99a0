"""Read the events of a Triton trace file, also of a damaged one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from blsnb.errors import InputError
from blsnb.files.read_budget import ReadBudget, json_cost
from blsnb.request_fields import PLAIN, RequestFields, RequestOptions, fields_of
from blsnb.tensors.ref import TensorRef
from blsnb.trace.facts import ParameterPairs
from blsnb.trace.triton import values as triton_values

_MAX_NS = (1 << 63) - 1
_MAX_ID = (1 << 64) - 1
_MAX_DIMS = 64
_MAX_METADATA = 4096
_FIRST_LOOK = 4096
_ELEMENT_BYTES, _QUOTE_BYTES = 80, 60
"""Memory for an element while a tensor's text is read, beyond that of its JSON."""
_MAX_WORD = len("-Infinity")
_FILLER = re.compile(r"[\s,\[\]]*")
_EVENT = re.compile(r'\{\s*"id"')
_BOUNDARY = '},{"id":'
_ACTIVITY = re.compile(r'\{"id":\d{1,20},"activity":"')
_TENSOR_END = re.compile(
    r'","shape":"[-\d,]{0,1000}","dtype":"\w{1,32}"\}\}(?=,\{"id":|\])'
)
_METADATA = re.compile(
    r'\{"id":(\d{1,20}),"model_name":"(.*?)","model_version":(-?\d{1,19})'
    r'(?:,"request_id":"(.*?)")?(?:,"parent_id":(\d{1,20}))?\}',
    re.DOTALL,
)
_TENSOR = re.compile(
    r'\{"id":(\d{1,20}),"activity":"(\w{1,64})","tensor":\{"name":"(.*)', re.DOTALL
)
_KIND = re.compile(r'([-\d,]{0,1000})","dtype":"(\w{1,32})"(,"escaped":true)?\}\}')


class Metadata(NamedTuple):
    """Model and caller of a request."""

    id: int
    model_name: str
    model_version: int
    request_id: str
    parent_id: int | None
    fields: RequestFields = PLAIN
    """Further fields of the request, without its id, in a file of blsnb."""
    response_parameters: tuple[ParameterPairs, ...] = ()
    """Parameters of each response, in a file of blsnb."""


class Stamp(NamedTuple):
    """A named time of a request."""

    id: int
    name: str
    ns: int


class TensorEvent(NamedTuple):
    """An input or output of a request."""

    id: int
    activity: str
    ref: TensorRef


class UnreadRange(NamedTuple):
    """A range of the text that could not be read."""

    start: int
    end: int


Event = Metadata | Stamp | TensorEvent


class EventReader:
    """Reads a file's text event by event; unreadable parts are gaps.

    Triton copies names and values without escaping them, so that quotes and
    backslashes make invalid JSON. Such events are read by their layout.

    Parameters
    ----------
    text
        The file, decoded with a surrogate for each byte that is not UTF-8.
    budget
        Limit of memory: an event that needs more is refused.
    """

    def __init__(self, text: str, budget: ReadBudget) -> None:
        self._text = text
        self._budget = budget
        self._decode = json.JSONDecoder().raw_decode
        self._boundary = -1
        # Bounds the work for a text in which each attempt fails late.
        self._patience = 8 * len(text) + (1 << 20)

    def __iter__(self) -> Iterator[Event | UnreadRange]:
        at = 0
        while True:
            match = _FILLER.match(self._text, at)
            assert match is not None  # The pattern matches the empty string.
            at = match.end()
            if at == len(self._text):
                return
            events, end = self._read(at) if self._patience > 0 else ([], -1)
            if end < 0:
                end = self._next(at)
                yield UnreadRange(at, end)
            yield from events
            at = end

    def _next(self, at: int) -> int:
        found = _EVENT.search(self._text, at + 1) if self._patience > 0 else None
        return len(self._text) if found is None else found.start()

    def _read(self, at: int) -> tuple[list[Event], int]:
        """Return the events at a position and their end; -1 without events."""
        for attempt in (self._between_boundaries, self._anywhere, self._tensor):
            events, end = attempt(at)
            if events:
                return events, end
        return [], -1

    def _between_boundaries(self, at: int) -> tuple[list[Event], int]:
        """Read an event that ends where the next one begins in Triton's layout."""
        if self._boundary < at:
            found = self._text.find(_BOUNDARY, at)
            self._boundary = len(self._text) if found < 0 else found
        end = self._boundary + 1
        if end > len(self._text):
            return [], -1
        piece = self._piece(at, end)
        events = _understood(piece) or _verbatim(piece)
        self._patience -= 0 if events else len(piece)
        return events, end

    def _anywhere(self, at: int) -> tuple[list[Event], int]:
        """Read an event of any layout, such as the last one."""
        size = _FIRST_LOOK
        while self._patience > 0:
            # Errors in a long text are slow, because `json` counts its lines.
            piece = self._piece(at, at + size)
            self._patience -= len(piece) // 8 if size > _FIRST_LOOK else 0
            try:
                value, length = self._decode(piece)
            except json.JSONDecodeError as error:
                if not _is_cut(error) or at + size >= len(self._text):
                    break
                size *= 16
            except (ValueError, RecursionError):
                self._patience -= 10_000
                break
            else:
                return list(_events(value, piece[:length])), at + length
        return [], -1

    def _tensor(self, at: int) -> tuple[list[Event], int]:
        """Read a tensor whose values look like the beginning of an event."""
        if not _ACTIVITY.match(self._text, at):
            return [], -1
        found = _TENSOR_END.search(self._text, at)
        end = len(self._text) if found is None else found.end()
        self._patience -= end - at
        return _verbatim(self._piece(at, end)), end

    def _piece(self, start: int, end: int) -> str:
        """Return a part of the text, within the memory limit."""
        piece = self._text[start:end]
        if len(piece) > _FIRST_LOOK:
            elements = _ELEMENT_BYTES * piece.count(",")
            quotes = _QUOTE_BYTES * piece.count('"')
            self._budget.check(json_cost(piece) + elements + quotes)
        return piece


def _is_cut(error: json.JSONDecodeError) -> bool:
    """Whether the text may be JSON that is cut off."""
    near = error.pos >= len(error.doc) - _MAX_WORD
    return near or error.msg.startswith(("Unterminated", "Invalid \\"))


def _understood(piece: str) -> list[Event]:
    try:
        value = json.loads(piece)
    except (ValueError, RecursionError):
        return []
    return list(_events(value, piece))


def _events(value: Any, piece: str) -> Iterator[Event]:
    """Yield the events of an object of the file; none if it is unknown."""
    if not isinstance(value, dict) or not _is_number(value.get("id"), _MAX_ID):
        return
    match value:
        case {"timestamps": list(stamps)}:
            for stamp in stamps:
                yield from _stamps(value["id"], stamp)
        case {
            "activity": str(activity),
            "tensor": {
                "name": str(),
                "data": str(),
                "shape": str(),
                "dtype": str(),
            } as tensor,
        }:
            ref = _ref(tensor, piece)
            if ref is not None:
                yield TensorEvent(value["id"], activity, ref)
        case {"model_name": str(name)}:
            parent = value.get("parent_id")
            yield Metadata(
                value["id"],
                name,
                _version(value.get("model_version")),
                str(value.get("request_id", "")),
                parent if _is_number(parent, _MAX_ID) else None,
                _fields(value.get("request")),
                _response_parameters(value.get("response_parameters")),
            )


def _fields(options: Any) -> RequestFields:
    try:
        known = isinstance(options, dict)
        return fields_of(cast(RequestOptions, options)) if known else PLAIN
    except InputError:
        return PLAIN


def _response_parameters(listed: Any) -> tuple[ParameterPairs, ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(_fields({"parameters": each}).parameters for each in listed)


def _stamps(id_: int, stamp: Any) -> Iterator[Stamp]:
    match stamp:
        case {"name": str(name), "ns": ns} if _is_number(ns, _MAX_NS):
            yield Stamp(id_, name, ns)


def _is_number(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _version(value: Any) -> int:
    return value if _is_number(value, _MAX_NS) else -1


def _ref(tensor: dict[str, Any], piece: str) -> TensorRef | None:
    shape = _shape(tensor["shape"])
    if shape is None:
        return None
    verbatim = None if tensor.get("escaped") is True else _verbatim_data(piece)
    return triton_values.read(
        tensor["name"], tensor["dtype"], shape, tensor["data"], verbatim
    )


def _verbatim_data(piece: str) -> str | None:
    """Return the values verbatim; None in another layout."""
    _, begins, rest = piece.partition('","data":"')
    values, ends, _ = rest.rpartition('","shape":"')
    return values if begins and ends else None


def _shape(text: str) -> tuple[int, ...] | None:
    words = text.split(",") if text else []
    if len(words) > _MAX_DIMS or any(len(word) > 19 for word in words):
        return None
    if not all(word.isdecimal() and word.isascii() for word in words):
        return None
    return tuple(map(int, words))


def _verbatim(piece: str) -> list[Event]:
    """Return the event of a text that is invalid JSON in Triton's layout."""
    if len(piece) <= _MAX_METADATA and (found := _METADATA.fullmatch(piece)):
        id_, name, version, request_id, parent = found.groups()
        parent_id = None if parent is None else int(parent)
        return [Metadata(int(id_), name, int(version), request_id or "", parent_id)]
    before, _, rest = piece.partition('","data":"')
    values, _, after = rest.rpartition('","shape":"')
    head, kind = _TENSOR.fullmatch(before), _KIND.fullmatch(after)
    shape = _shape(kind[1]) if kind else None
    if head is None or kind is None or shape is None:
        return []
    ref = triton_values.read(head[3], kind[2], shape, values, values)
    return [TensorEvent(int(head[1]), head[2], ref)]
