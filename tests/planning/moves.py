"""The same moves of clients on the engine and in a simulation.

A move sends a request or ends a part of an execution. No model ends by itself, and the
clock of the engine stands still but for the time between two moves, so that what
follows a move does not depend on the speed of the machine.
"""

from __future__ import annotations

from typing import NamedTuple

from cells import FINAL, cell

from blsnb.request_fields import PLAIN, RequestFields

BETWEEN_NS = 1_070_000_000
"""Time from one move to the next; batchers look at their queues each half a second."""
AT_ONCE_NS = 1_000
"""Time in which what follows a move at once is simulated."""
TENSORS = """
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
"""
_METHODS = """
def initialize(self, args):
    self.name = args["model_name"]
    self.instance = int(args["model_instance_name"].rpartition("_")[2])

def starts(self, requests):
    # A slot without a request has one without an id.
    names = sorted(each.request_id() for each in requests if each.request_id())
    # A request of an ensemble may be executed here more than once.
    number = next(stage.values.setdefault("numbers", iter(range(1_000))))
    part = f"execution {number} "
    stage.values.setdefault("executions", []).append((self.name, names, part))
    stage.seen.append(("starts", self.name, self.instance, *names))
    return part

"""
HELD = cell(
    """
    stage.sleep(self.starts(requests) + "0")
    return [reply(x_of(each)) for each in requests]
    """,
    methods=_METHODS,
)
STREAM = cell(
    """
    part = self.starts(requests)
    stage.sleep(part + "0")
    request.get_response_sender().send(reply(x_of(request)))
    threading.Thread(target=self.finish, args=(part, request)).start()
    """,
    methods=f"""{_METHODS}
def finish(self, part, request):
    stage.sleep(part + "1")
    request.get_response_sender().send(reply(x_of(request)))
    request.get_response_sender().send(flags={FINAL})

""",
)
"""A stream of two responses, one of each part; its instance is free after the first."""

Happened = tuple[object, ...]
"""What happened, such as ``("starts", "m", 0, "a", "b")``: the model, the number of its
instance and the names of the requests."""


class Send(NamedTuple):
    """A client sends a request."""

    name: str
    model: str = "m"
    fields: RequestFields = PLAIN


class End(NamedTuple):
    """An execution, or a part of it, ends; nothing if none of the request runs."""

    name: str
    model: str = "m"


class Pass(NamedTuple):
    """Nothing but time passes."""


Move = Send | End | Pass


class Outcome(NamedTuple):
    """What followed a move, sorted, and how many requests wait after it.

    A move has two outcomes: what follows at once, and what follows before the next one.
    """

    happened: list[Happened]
    waiting: int
