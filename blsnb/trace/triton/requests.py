"""Requests of a Triton trace file, gathered from its events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Activity
from blsnb.trace.triton.events import Event, Metadata, Stamp, TensorEvent
from blsnb.trace.triton.json_form import BACKEND_OUTPUT, QUEUE_INPUT

_CORE = frozenset(activity.value for activity in Activity)
# Timestamps before the request, while the connection was idle.
_BEFORE = ("HTTP_RECV", "GRPC_WAITREAD")


@dataclass(slots=True, eq=False)
class TritonRequest:
    """One request of a file; possibly only its number is known."""

    number: int
    """Number that the server assigned."""
    metadata: Metadata | None = None
    times: dict[str, int] = field(default_factory=dict)
    """Times of Triton's activities; the first of each name."""
    others: list[Stamp] = field(default_factory=list)
    inputs: list[TensorRef] = field(default_factory=list)
    outputs: list[TensorRef] = field(default_factory=list)
    """Outputs of all responses."""

    def add(self, event: Event) -> None:
        """Add an event; events may come in any order."""
        match event:
            case Metadata():
                self.metadata = self.metadata or event
            case Stamp() if event.name in _CORE and event.name not in self.times:
                self.times[event.name] = event.ns
            case Stamp():
                self.others.append(event)
            case TensorEvent() if event.activity == QUEUE_INPUT:
                self.inputs.append(event.ref)
            case TensorEvent() if event.activity == BACKEND_OUTPUT:
                self.outputs.append(event.ref)

    @property
    def start_ns(self) -> int:
        """REQUEST_START, or the first known time; 0 without any."""
        first = min(self.times.values(), default=0)
        return self.times.get(Activity.REQUEST_START) or first

    @property
    def last_ns(self) -> int:
        """The last known time; 0 without any."""
        after = [
            stamp.ns for stamp in self.others if not stamp.name.startswith(_BEFORE)
        ]
        return max([*self.times.values(), *after], default=0)

    @property
    def rejected(self) -> bool:
        """Whether it has a response, but neither computation nor end."""
        answered = any("_SEND_" in stamp.name for stamp in self.others)
        went_on = {Activity.COMPUTE_START, Activity.REQUEST_END} & self.times.keys()
        return answered and not went_on

    def responses(self) -> list[tuple[int, tuple[TensorRef, ...]]]:
        """Return time and outputs of each response.

        A repeated output name begins the next response. Only client requests have
        times of responses: when the server began to send them.
        """
        groups: list[list[TensorRef]] = []
        names: set[str] = set()
        for ref in self.outputs:
            if not groups or ref.name in names:
                groups.append([])
                names.clear()
            names.add(ref.name)
            groups[-1].append(ref)
        sent = [stamp.ns for stamp in self.others if stamp.name.endswith("_SEND_START")]
        if len(sent) != len(groups):
            ended = self.times.get(Activity.COMPUTE_OUTPUT_START) or self.last_ns
            sent = [ended] * len(groups)
        return list(zip(sorted(sent), map(tuple, groups), strict=True))


class TritonRequests:
    """All requests of a file, with their callers."""

    def __init__(self) -> None:
        self._requests: dict[int, TritonRequest] = {}
        self.circles: set[int] = set()
        """Numbers of requests that are their own ancestors in the file."""

    def __len__(self) -> int:
        return len(self._requests)

    def __getitem__(self, number: int) -> TritonRequest:
        return self._requests[number]

    def add(self, event: Event) -> None:
        """Add an event of any request."""
        known = self._requests.get(event.id)
        if known is None:
            known = self._requests[event.id] = TritonRequest(event.id)
        known.add(event)

    def callers(self) -> dict[int, int | None]:
        """Return the caller of each request; None for client requests.

        A caller that is only mentioned in the file is added as a request.
        """
        callers: dict[int, int | None] = {}
        for number, request in list(self._requests.items()):
            known = request.metadata
            caller = callers[number] = None if known is None else known.parent_id
            if caller is not None and caller not in self._requests:
                self._requests[caller] = TritonRequest(caller)
                callers[caller] = None
        for number in self._in_circles(callers):
            self.circles.add(number)
            callers[number] = None
        return callers

    def _in_circles(self, callers: dict[int, int | None]) -> Iterator[int]:
        """Yield one request of each cycle of callers."""
        done: set[int] = set()
        for number in callers:
            path: dict[int, None] = {}
            at: int | None = number
            while at is not None and at not in done and at not in path:
                path[at] = None
                at = callers[at]
            if at is not None and at in path:
                yield at
            done.update(path)
