"""Scripts of timed requests at a scheduler, drawn at random, and what came of them."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from .asking import tensor
from .scripted import ACCOUNT, Scene
from .targets import Request, Target

UNIT_S = 0.2
"""Time between two events of a script, long beside a busy machine's delays."""
_LATE_S = 0.1
_CLOSE_S = 0.06
_TRIES = 5
_NUMBERS = itertools.count(1)
SOURCE = ACCOUNT.replace(
    "self.note([self.seen(request) for request in requests])",
    "import time; "
    "self.note([[request.request_id(), time.time()] for request in requests]); "
    "threading.Event().wait(max([int(request.request_id().split('~')[1]) "
    "for request in requests if '~' in request.request_id()] or [0]) / 1000)",
)
"""Notes when its requests are executed, for as many milliseconds as their ids say."""
assert SOURCE != ACCOUNT


class Step(NamedTuple):
    """A request, sent at a time."""

    at_s: float
    id: str
    """Ends with ``~`` and the milliseconds of its execution."""
    rows: int
    fields: Mapping[str, Any]
    value: int = 1


@dataclass(frozen=True)
class Script:
    """A scheduler's settings, and requests for it."""

    settings: str
    size: int
    steps: tuple[Step, ...]


class Played(NamedTuple):
    """What became of a script."""

    executions: list[tuple[float, list[str]]]
    errors: dict[str, str]

    def comparable(self, script: Script) -> list[Any]:
        """Return the executions, each after how many requests it began; and errors."""
        groups = sorted(
            [sum(step.at_s < at + _CLOSE_S / 2 for step in script.steps), sorted(ids)]
            for at, ids in self.executions
        )
        return [groups, self.errors]


def play_in_time(target: Target, script: Script) -> list[Any]:
    """Play a script until this machine was fast enough; return what is compared."""
    for _ in range(_TRIES):
        if (played := play(target, script)) is not None:
            return played.comparable(script)
    pytest.skip("this machine is too busy for requests at given times")


def play(target: Target, script: Script) -> Played | None:
    """Play a script on a server; return None if this machine was too slow for it."""
    # A cache would know the requests of a model of the same name.
    name = f"timed{next(_NUMBERS)}"
    with Scene(target, name, script.settings, size=script.size, source=SOURCE) as scene:
        assert scene.failure is None, scene.failure
        begin = time.time() + 0.05
        errors: dict[str, str] = {}
        late: list[float] = []

        def send(step: Step) -> None:
            time.sleep(max(0.0, begin + step.at_s - time.time()))
            late.append(time.time() - begin - step.at_s)
            fields = dict(step.fields)
            deadline_s = fields.pop("deadline_s", 20.0)
            one = [step.value]
            x = tensor([one] * step.rows if script.size else one, "int32")
            answer = target.infer(
                Request(
                    name,
                    [("X", x)],
                    id=step.id,
                    parameters=fields,
                    deadline_s=deadline_s,
                )
            )
            if answer.error is not None:
                errors[step.id] = answer.error[1].replace(name, "timed")

        threads = [threading.Thread(target=send, args=(step,)) for step in script.steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        executions = [
            (min(at for _, at in seen) - begin, [id for id, _ in seen if id])
            for _, seen in scene.calls()
        ]
        if max(late) > _LATE_S:
            return None
        return Played(executions, dict(sorted(errors.items())))


def tight(played: Played, script: Script) -> bool:
    """Whether two events were so close that chance decided what came first."""
    events = [("sent", step.at_s) for step in script.steps]
    events += [
        ("given up", step.at_s + step.fields["deadline_s"])
        for step in script.steps
        if "deadline_s" in step.fields
    ]
    for number, (at, ids) in enumerate(played.executions):
        takes = max((int(id.split("~")[1]) for id in ids if "~" in id), default=0)
        # Without a duration it ends when it begins.
        events += [(f"end {number}", at + takes / 1000)] if takes else []
    events.sort(key=lambda event: event[1])
    pairs = itertools.pairwise(events)
    return any(b[1] - a[1] < _CLOSE_S for a, b in pairs if a[0] != b[0])


def takes(rng: random.Random, id: str, *units: int) -> str:
    """Return the id of a request that takes some units, and a part of one."""
    return f"{id}~{int((rng.choice(units) + rng.uniform(0.3, 0.7)) * UNIT_S * 1000)}"


def given_up(rng: random.Random, share: float) -> dict[str, float]:
    """Return the deadline of some clients, which lies between two other events."""
    if rng.random() >= share:
        return {}
    return {"deadline_s": (rng.randint(1, 5) + rng.uniform(0.3, 0.7)) * UNIT_S}
