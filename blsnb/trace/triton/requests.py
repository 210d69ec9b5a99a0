"""What a Triton trace file says of each request, gathered from its events."""

from __future__ import annotations

from collections.abc import Iterator

from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Activity
from blsnb.trace.triton.events import Event, Metadata, Stamp, TensorEvent
from blsnb.trace.triton.json_form import BACKEND_OUTPUT, QUEUE_INPUT

_CORE = frozenset(activity.value for activity in Activity)
# A connection may have waited for this request for any time.
_BEFORE = ("HTTP_RECV", "GRPC_WAITREAD")


class TritonRequest:
    """What a file says of one request; nothing but its number may be known."""

    __slots__ = ("inputs", "metadata", "number", "others", "outputs", "times")

    def __init__(self, number: int) -> None:
        self.number = number
        """The server's own."""
        self.metadata: Metadata | None = None
        self.times: dict[str, int] = {}
        """Of Triton's core; the first of each name."""
        self.others: list[Stamp] = []
        self.inputs: list[TensorRef] = []
        self.outputs: list[TensorRef] = []
        """Of all its responses."""

    def add(self, event: Event) -> None:
        """Take an event; they may come in any order."""
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
        """REQUEST_START, or the first time known; 0 for none."""
        first = min(self.times.values(), default=0)
        return self.times.get(Activity.REQUEST_START) or first

    @property
    def last_ns(self) -> int:
        """The last time known; 0 for none."""
        after = [
            stamp.ns for stamp in self.others if not stamp.name.startswith(_BEFORE)
        ]
        return max([*self.times.values(), *after], default=0)

    @property
    def rejected(self) -> bool:
        """Whether it was answered, but neither computed nor ended."""
        answered = any("_SEND_" in stamp.name for stamp in self.others)
        went_on = {Activity.COMPUTE_START, Activity.REQUEST_END} & self.times.keys()
        return answered and not went_on

    def responses(self) -> list[tuple[int, tuple[TensorRef, ...]]]:
        """Return time and outputs of each response.

        A new one begins where the name of an output comes again. Only requests from
        outside have times: those at which the server began to send.
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
    """All requests of a file, and who made which."""

    def __init__(self) -> None:
        self._requests: dict[int, TritonRequest] = {}
        self.circles: set[int] = set()
        """Numbers of requests that the file puts below themselves."""

    def __len__(self) -> int:
        return len(self._requests)

    def __getitem__(self, number: int) -> TritonRequest:
        return self._requests[number]

    def add(self, event: Event) -> None:
        """Take an event of any request."""
        known = self._requests.get(event.id)
        if known is None:
            known = self._requests[event.id] = TritonRequest(event.id)
        known.add(event)

    def callers(self) -> dict[int, int | None]:
        """Return who made each request; None for those from outside.

        Whoever made one is there, though the file may say nothing else of it.
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
        """Yield one request of each circle of callers."""
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
