"""Timed requests that are sent to a scheduler, drawn at random, and their results."""

from __future__ import annotations

import itertools
import math
import random
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from .asking import tensor
from .scripted import ACCOUNT, Scene, pause
from .targets import Request, Target

UNIT_S = 0.3
"""Time between two events of a script, long beside a busy machine's delays."""
DELAYS_S = (1.7 * UNIT_S, 2.7 * UNIT_S)
"""Delays, which end when no request is sent.

With a delay of whole units the real server had three results in five tries.
"""
SHORT_S = 1.0
"""A timeout that ends after all requests of a held script were sent."""
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
    instances: int = 1
    delays_s: tuple[float, ...] = ()
    """Queue delays and timeouts, which end so long after a request was sent."""

    @property
    def text(self) -> str:
        """Settings of the model."""
        count = f"instance_group {{ kind: KIND_CPU count: {self.instances} }}"
        return f"{self.settings} {count}"


class Played(NamedTuple):
    """Executions, and responses, of a script."""

    executions: list[tuple[float, list[str]]]
    errors: dict[str, str]
    answers: list[tuple[float, str]]

    def comparable(self, script: Script) -> list[Any]:
        """Return the executions, each after how many requests it began; and errors."""
        groups = sorted(
            [sum(step.at_s < at + _CLOSE_S / 2 for step in script.steps), sorted(ids)]
            for at, ids in self.executions
        )
        return [groups, self.errors]

    def answered(self) -> dict[str, int]:
        """Return after how many executions each response came."""
        return {
            id: sum(end < at_s + _CLOSE_S / 2 for _, end in self.spans_s())
            for at_s, id in sorted(self.answers, key=lambda answer: answer[1])
        }

    def spans_s(self) -> list[tuple[float, float]]:
        """Return when each execution began and ended."""
        return [(at, at + _duration_s(ids)) for at, ids in self.executions]


def _duration_s(ids: list[str]) -> float:
    return max((int(id.split("~")[1]) for id in ids if "~" in id), default=0) / 1000


def play_in_time(target: Target, script: Script) -> Played:
    """Play a script until no request was late, and no two events too close."""
    for _ in range(_TRIES):
        played = play(target, script)
        if played is not None and not tight(played, script):
            return played
    pytest.skip("this machine is too busy for requests at given times")


def play(target: Target, script: Script) -> Played | None:
    """Play a script on a server; return None if this machine was too slow for it."""
    # A cache would know the requests of a model of the same name.
    name = f"timed{next(_NUMBERS)}"
    with Scene(target, name, script.text, size=script.size, source=SOURCE) as scene:
        assert scene.failure is None, scene.failure
        begin = time.time() + 0.05
        errors: dict[str, str] = {}
        answers: list[tuple[float, str]] = []
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
            answers.append((time.time() - begin, step.id))
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
        return Played(executions, dict(sorted(errors.items())), answers)


def play_held(target: Target, script: Script) -> list[Any]:
    """Send requests, one after another, while the only instance is busy.

    It continues when all short timeouts are over. When the real batcher notices that
    decides nothing; it may notice late.
    """
    name = f"held{next(_NUMBERS)}"
    with Scene(target, name, script.text, size=script.size) as scene:
        scene.hold()
        for step in script.steps:
            scene.ask(step.id, rows=step.rows, **step.fields)
        pause(1.3 * SHORT_S)
        scene.go()
        errors = {
            id: [code, text.replace(name, "held")]
            for id, (code, text) in scene.over().items()
        }
        return [errors, scene.groups()]


def tight(played: Played, script: Script) -> bool:
    """Return whether two events were so close that chance decided their order."""
    events = sorted(_events(played, script), key=lambda event: event[1])
    pairs = itertools.pairwise(events)
    return any(b[1] - a[1] < _CLOSE_S for a, b in pairs if a[0] != b[0])


def _events(played: Played, script: Script) -> Iterator[tuple[str, float]]:
    """Yield the name and the time of each event on which a decision depends."""
    begun_s = {id: at for at, ids in played.executions for id in ids}
    answered_s = {id: at for at, id in played.answers}
    for step in script.steps:
        yield "sent", step.at_s
        if "deadline_s" in step.fields:
            given_up_s = step.at_s + step.fields["deadline_s"]
            if given_up_s < answered_s[step.id] + _CLOSE_S:
                yield "given up", given_up_s
        for delay_s in script.delays_s:
            if step.at_s + delay_s < begun_s.get(step.id, math.inf) + _CLOSE_S:
                yield "due", step.at_s + delay_s
    for number, (at, end) in enumerate(played.spans_s()):
        # An execution without a duration ends when it begins.
        if end > at:
            yield f"end {number}", end


def microseconds(seconds: float) -> int:
    """Return a time as configurations have it."""
    return round(seconds * 1_000_000)


def takes(rng: random.Random, id: str, *units: int) -> str:
    """Return the id of a request that takes some units, and a part of one."""
    return f"{id}~{int((rng.choice(units) + rng.uniform(0.25, 0.45)) * UNIT_S * 1000)}"


def given_up(rng: random.Random, share: float) -> dict[str, float]:
    """Return the deadline of some clients, which lies between two other events."""
    if rng.random() >= share:
        return {}
    return {"deadline_s": (rng.randint(1, 5) + rng.uniform(0.25, 0.45)) * UNIT_S}
