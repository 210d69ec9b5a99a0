"""Cases of batchers, queue policies, ensembles, rate limits and streams."""

from __future__ import annotations

from blsnb.request_fields import RequestFields

from .cases import DELAY, Case, ends, instances, limited
from .moves import Move, Pass, Send


def priority(level: int, timeout_us: int = 0) -> RequestFields:
    """Return the fields of a request with a priority and a timeout."""
    return RequestFields(priority=level, timeout_us=timeout_us)


def batching(size: int, rules: str = "", count: int = 1) -> str:
    """Return the configuration of a model with a dynamic batcher."""
    rules = f"dynamic_batching {{ {rules} }}"
    return f"max_batch_size: {size} {rules} {instances(count)}"


_WHOLE = 'platform: "ensemble" max_batch_size: 2'


def ensemble(*steps: str) -> str:
    """Return an ensemble of models, one after the other."""
    names = ["X", *(f"t{number}" for number in range(1, len(steps))), "Y"]
    written = " ".join(
        f'step {{ model_name: "{step}" model_version: -1 '
        f'input_map {{ key: "X" value: "{names[number]}" }} '
        f'output_map {{ key: "Y" value: "{names[number + 1]}" }} }}'
        for number, step in enumerate(steps)
    )
    return f"{_WHOLE} ensemble_scheduling {{ {written} }}"


LEVELS = "priority_levels: 3 default_priority_level: 2"

PRIORITIES: list[Move] = [
    *(
        Send(f"{name}{level}", fields=priority(int(level)))
        for name, level in ("a2", "b3", "c3", "d0", "e1", "f3", "g2", "h1")
    ),
    *ends("a2"),
    Send("i1", fields=priority(1)),
    Send("j9", fields=priority(9)),
    *5 * ends("e1", "d0", "h1", "g2", "b3", "i1", "c3", "f3", "j9"),
]

EXPIRE = "default_timeout_microseconds: 2300000 allow_timeout_override: true"

TIMEOUTS: list[Move] = [
    Send("a", fields=priority(1)),
    Send("b", fields=priority(1)),
    Send("c", fields=priority(2, 1_300_000)),
    Send("d", fields=priority(1, 400_000)),
    *ends("a"),
    Send("e", fields=priority(2)),
    Send("f", fields=priority(1)),
    Pass(),
    *2 * ends("b", "c", "d", "e"),
    Send("g", fields=priority(1)),
    Send("h", fields=priority(2)),
    *4 * ends(*"bcdefgh"),
]

STEPS: list[Move] = [
    *(Send(name, "whole") for name in "pqr"),
    Send("s", "b"),
    *ends("q", "p", model="a"),
    Send("t", "whole"),
    *ends(*"srt", model="a"),
    *ends(*"sqpt", model="b"),
    *2 * [*ends(*"pqrst", model="a"), *ends(*"pqrst", model="b")],
]

TWICE: list[Move] = [
    *(Send(name, "whole") for name in "pqr"),
    *ends("q", "p", model="a"),
    Send("s", "whole"),
    *4 * ends(*"rqps", model="a"),
]

RATES: list[Move] = [
    Send("a1", "a"),
    *(Send(f"{model}{number}", model) for number in (2, 3, 4) for model in "ab"),
    *ends("a1", "a2", "a3", "a4", model="a"),
    *ends("b2", "b3", "b4", model="b"),
] + 2 * [*ends("a2", "a3", "a4", model="a"), *ends("b2", "b3", "b4", model="b")]

BATCHING = "max_batch_size: 2 dynamic_batching { } "

SCHEDULER_CASES = {
    "delays": Case(
        {"m": batching(4, f"preferred_batch_size: 2 {DELAY}")},
        [Send("a"), Pass(), *map(Send, "bcdefg"), *3 * ends(*"abcdefg"), Pass()]
        + 3 * ends(*"abcdefg"),
    ),
    "delays on two instances": Case(
        {"m": batching(4, DELAY, 2)},
        [Send("a"), Pass(), *map(Send, "bcdefg"), *3 * ends(*"abcdefg"), Pass()]
        + 3 * ends(*"abcdefg"),
    ),
    "priorities": Case({"m": batching(1, LEVELS)}, PRIORITIES),
    "priorities in batches": Case({"m": batching(2, LEVELS)}, PRIORITIES),
    "priorities with a delay": Case(
        {"m": batching(4, f"{LEVELS} {DELAY} preferred_batch_size: 2", 2)}, PRIORITIES
    ),
    "full queue": Case(
        {"m": batching(2, "default_queue_policy { max_queue_size: 2 }")},
        [*map(Send, "abcd"), *ends("a"), *map(Send, "efgh"), *3 * ends(*"abcdefgh")],
    ),
    "full levels": Case(
        {
            "m": batching(
                1,
                f"{LEVELS} priority_queue_policy {{ key: 3 value {{ "
                "max_queue_size: 1 } }",
            )
        },
        PRIORITIES,
    ),
    "timeouts": Case(
        {"m": batching(2, f"default_queue_policy {{ {EXPIRE} }}")}, TIMEOUTS
    ),
    "timeouts that delay": Case(
        {
            "m": batching(
                2, f"default_queue_policy {{ {EXPIRE} timeout_action: DELAY }}"
            )
        },
        TIMEOUTS,
    ),
    "timeouts of levels": Case(
        {
            "m": batching(
                1,
                f"{LEVELS} priority_queue_policy {{ key: 1 value {{ {EXPIRE} "
                "timeout_action: DELAY } } "
                f"priority_queue_policy {{ key: 2 value {{ {EXPIRE} }} }}",
            )
        },
        TIMEOUTS,
    ),
    "ensemble": Case(
        {
            "a": "max_batch_size: 2 " + instances(2),
            "b": batching(2),
            "whole": ensemble("a", "b"),
        },
        STEPS,
    ),
    "ensemble of one model twice": Case(
        {"a": "max_batch_size: 2 " + instances(2), "whole": ensemble("a", "a")}, TWICE
    ),
    "ensemble of one batching model twice": Case(
        {"a": batching(2), "whole": ensemble("a", "a")}, TWICE
    ),
    "ensemble of a full model": Case(
        {
            "a": "max_batch_size: 2 " + instances(3),
            "b": batching(2, "default_queue_policy { max_queue_size: 1 }"),
            "whole": ensemble("a", "b"),
        },
        STEPS,
    ),
    "rates of an ensemble": Case(
        {
            "a": "max_batch_size: 2 " + limited(2, 2),
            "b": BATCHING + limited(2, 1),
            "whole": ensemble("a", "b"),
        },
        STEPS,
        True,
    ),
    "rates": Case(
        {
            "a": "max_batch_size: 1 " + limited(2, 2),
            "b": "max_batch_size: 1 " + limited(1, 1),
        },
        RATES,
        True,
    ),
    "rates in batches": Case(
        {"a": BATCHING + limited(2, 2), "b": BATCHING + limited(2, 1, 2)},
        RATES,
        True,
    ),
    "stream": Case(
        {
            "m": "max_batch_size: 1 model_transaction_policy { decoupled: true } "
            + instances(1)
        },
        [
            *(Send(name) for name in "abcd"),
            *ends("a", "b", "b", "a", "c", "d", "c", "d"),
        ],
    ),
}
