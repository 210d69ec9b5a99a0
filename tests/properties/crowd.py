"""Twenty models of all kinds that ask each other, and what each must answer."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

PRIME = 1_000_003
SOURCE = """
import asyncio
import json
import random
import threading

import numpy as np
import stage
import triton_python_backend_utils as pb_utils

PRIME = 1_000_003
FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


def value_of(request, name):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return tensor.as_numpy().astype(np.int64)


def question(child, x):
    fields = {}
    if child["sequence"]:
        fields = {"correlation_id": random.getrandbits(62) + 1, "flags": 3}
    return pb_utils.InferenceRequest(
        model_name=child["name"],
        inputs=[pb_utils.Tensor("X", x[np.newaxis] if child["size"] else x)],
        requested_output_names=["Y"],
        **fields,
    )


def folded(total, answers, shape):
    for answer in answers:
        if answer.has_error():
            return answer.error().message()
        for tensor in answer.output_tensors():
            total = (3 * total + tensor.as_numpy().reshape(shape)) % PRIME
    return total


def listed(answer):
    if isinstance(answer, pb_utils.InferenceResponse):
        return [answer]
    return list(answer)


def reply(total):
    if isinstance(total, str):
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(total))
    return pb_utils.InferenceResponse([pb_utils.Tensor("Y", total)])


class Base:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.me = json.loads(config["parameters"]["me"]["string_value"])
        self.steps = {}
        self.count("initialized")

    def finalize(self):
        self.count("finalized")

    def count(self, what):
        with stage.values["lock"]:
            stage.values[what] += 1

    def own(self, request):
        if self.me["join"]:
            return (value_of(request, "P") + 5 * value_of(request, "Q")) % PRIME
        total = (self.me["a"] * value_of(request, "X") + self.me["b"]) % PRIME
        if self.me["sequence"]:
            total = (total + 7 * self.step(request)) % PRIME
        return total

    def step(self, request):
        # How many requests of its sequence were here before.
        name = request.correlation_id()
        if request.flags() & 1 or not name:
            # Nobody's request fills the place of a sequence that is silent.
            self.steps[name] = 0
        else:
            self.steps[name] += 1
        return self.steps[name]

    def answer(self, request):
        total = self.own(request)
        shape, rows = total.shape, [total]
        if self.me["size"]:
            # Whom it asks has no batches, or takes one row.
            rows = list(total)
        answers = [self.asked(row) for row in rows]
        failed = [each for each in answers if isinstance(each, str)]
        return failed[0] if failed else np.array(answers).reshape(shape)

    def asked(self, x):
        total = x
        for child in self.me["calls"]:
            many = child["sends"] > 0
            answers = listed(question(child, x).exec(decoupled=many))
            total = folded(total, answers, x.shape)
            if isinstance(total, str):
                return total
        return total


class Plain(Base):
    def execute(self, requests):
        return [reply(self.answer(request)) for request in requests]


class Gathering(Base):
    async def execute(self, requests):
        return [reply(await self.gathered(self.own(each))) for each in requests]

    async def gathered(self, x):
        total = x
        calls = [
            question(child, x).async_exec(decoupled=child["sends"] > 0)
            for child in self.me["calls"]
        ]
        for answer in await asyncio.gather(*calls):
            if not isinstance(total, str):
                total = folded(total, listed(answer), x.shape)
        return total


class Streaming(Base):
    def execute(self, requests):
        for request in requests:
            total = self.answer(request)
            sender = request.get_response_sender()
            if self.me["later"]:
                thread = threading.Thread(target=self.send, args=(sender, total))
                thread.start()
            else:
                self.send(sender, total)

    def send(self, sender, total):
        if isinstance(total, str):
            sender.send(reply(total), FINAL)
            return
        for number in range(self.me["sends"] - 1):
            sender.send(reply((total + number) % PRIME))
        last = reply((total + self.me["sends"] - 1) % PRIME)
        if self.me["later"]:
            sender.send(last)
            sender.send(flags=FINAL)
        else:
            sender.send(last, FINAL)


class TritonPythonModel({base}):
    pass
"""
TENSOR = '{} {{ name: "{}" data_type: TYPE_INT64 dims: [ -1 ] }}'
OLDEST = "sequence_batching { oldest { max_candidate_sequences: 64 } }"
DIRECT = "sequence_batching { direct { } }"
QUICK = "dynamic_batching { max_queue_delay_microseconds: 300 }"
PREFERRED = "dynamic_batching { preferred_batch_size: [ 4 ] }"


@dataclass
class Member:
    """One model: what it computes, which models it calls, how it is scheduled.

    Parameters
    ----------
    steps
        Of an ensemble: model, tensors by the names that the model has, its output.
    """

    name: str
    base: str = "Plain"
    size: int = 0
    instances: int = 1
    scheduler: str = ""
    sends: int = 0
    later: bool = False
    join: bool = False
    calls: list[Member] = field(default_factory=list)
    steps: list[tuple[Member, dict[str, str], str]] = field(default_factory=list)
    a: int = 1
    b: int = 0

    @property
    def sequence(self) -> bool:
        """Whether only the requests of a sequence are taken."""
        return self.scheduler.startswith("sequence") or any(
            member.sequence for member, *_ in self.steps
        )

    @property
    def source(self) -> str | None:
        """The text of its ``model.py``."""
        return None if self.steps else SOURCE.replace("{base}", self.base)

    @property
    def config(self) -> str:
        """The text of its ``config.pbtxt``."""
        inputs = [TENSOR.format("input", each) for each in ("PQ" if self.join else "X")]
        tensors = " ".join([*inputs, TENSOR.format("output", "Y")])
        if self.steps:
            steps = " ".join(_step(*step) for step in self.steps)
            return f'platform: "ensemble" {tensors} ensemble_scheduling {{ {steps} }}'
        me = json.dumps(json.dumps(self.described(deep=True)))
        policy = "model_transaction_policy { decoupled: true }" if self.sends else ""
        return (
            f'backend: "python" max_batch_size: {self.size} {tensors} {policy} '
            f"instance_group {{ kind: KIND_CPU count: {self.instances} }} "
            f"{self.scheduler} "
            f'parameters {{ key: "me" value {{ string_value: {me} }} }}'
        )

    def described(self, deep: bool = False) -> dict[str, Any]:
        """Return the facts of a model for itself and its callers."""
        names = ("name", "size", "sends", "sequence", "join", "a", "b", "later")
        found = {name: getattr(self, name) for name in names}
        if deep:
            found["calls"] = [each.described() for each in self.calls]
        return found

    def answers(self, x: list[int], step: int = 0) -> list[list[int]]:
        """Return what it must answer, response by response.

        Parameters
        ----------
        step
            How many requests of its sequence came before.
        """
        if self.steps:
            return self._composed(x, step)
        total = [(self.a * each + self.b) % PRIME for each in x]
        if self.sequence:
            total = [(each + 7 * step) % PRIME for each in total]
        own = total
        for child in self.calls:
            for answer in child.answers(own):
                pairs = zip(total, answer, strict=True)
                total = [(3 * mine + theirs) % PRIME for mine, theirs in pairs]
        return [
            [(each + number) % PRIME for each in total]
            for number in range(max(1, self.sends))
        ]

    def _composed(self, x: list[int], step: int) -> list[list[int]]:
        flows = [{"X": x}]
        for member, given, made in self.steps:
            flows = [
                {**flow, made: answer}
                for flow in flows
                for answer in _asked(member, given, flow, step)
            ]
        return [flow["Y"] for flow in flows]


def _asked(
    member: Member, given: dict[str, str], flow: dict[str, list[int]], step: int
) -> list[list[int]]:
    if not member.join:
        return member.answers(flow[given["X"]], step)
    pairs = zip(flow[given["P"]], flow[given["Q"]], strict=True)
    return [[(p + 5 * q) % PRIME for p, q in pairs]]


def _step(member: Member, given: dict[str, str], made: str) -> str:
    maps = " ".join(
        f'input_map {{ key: "{key}" value: "{value}" }}' for key, value in given.items()
    )
    return (
        f'step {{ model_name: "{member.name}" model_version: -1 {maps} '
        f'output_map {{ key: "Y" value: "{made}" }} }}'
    )


def crowd(chance: random.Random) -> list[Member]:
    """Return models that ask only those before them, whom they ask by chance."""
    leaves = [
        Member("plain"),
        Member("two", instances=2),
        Member("async", "Gathering"),
        Member("quick", size=4, scheduler=QUICK),
        Member("preferred", size=8, instances=2, scheduler=PREFERRED),
        Member("direct", size=8, instances=2, scheduler=DIRECT),
        Member("oldest", size=4, scheduler=OLDEST),
        Member("stream", "Streaming", sends=3),
        Member("later", "Streaming", sends=2, later=True),
    ]
    plain, two, _, quick, preferred, direct, _, stream, _ = leaves
    join = Member("join", join=True, instances=2)
    x = {"X": "X"}
    steps = {"X": "A"}
    chain = Member("chain", steps=[(quick, x, "A"), (plain, steps, "Y")])
    fan = Member(
        "fan",
        steps=[(two, x, "A"), (preferred, x, "B"), (join, {"P": "A", "Q": "B"}, "Y")],
    )
    flow = Member("flow", sends=3, steps=[(stream, x, "A"), (two, steps, "Y")])
    series = Member("series", steps=[(plain, x, "A"), (direct, steps, "Y")])
    first = [chain, fan, flow, series]
    callers = [
        Member("asks", instances=3),
        Member("gathers", "Gathering", instances=2),
        Member("batched", size=4, instances=2, scheduler=QUICK),
        Member("sends", "Streaming", sends=2, instances=2),
    ]
    for caller in callers:
        caller.calls = chance.sample([*leaves, *first], chance.randint(1, 3))
    above = [
        Member("nested", steps=[(chain, x, "A"), (callers[0], steps, "Y")]),
        Member("top", instances=4),
        Member("wide", "Gathering", instances=4),
    ]
    lower = [*leaves, *first, *callers, above[0]]
    for caller in above[1:]:
        caller.calls = chance.sample(lower, chance.randint(2, 4))
    members = [*leaves, join, *first, *callers, *above]
    for member in members:
        member.a, member.b = chance.randrange(1, 9), chance.randrange(100)
    return members
