"""Cases of sequences: what clients send, and which executions end."""

from __future__ import annotations

from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START

from .cases import DELAY, IDLE, Case, ends, instances, limited, of
from .moves import Move, Pass, Send

START, END = SEQUENCE_START, SEQUENCE_END
SEQUENCES: list[Move] = [
    *(Send(f"{name}1", fields=of(n, START)) for n, name in enumerate("abcde", 1)),
    Send("x", fields=of(9)),
    Send("a2", fields=of(1)),
    Send("b2", fields=of(2, END)),
    *ends("a1", "b1", "a2", "b2"),
    Send("c2", fields=of(3, END)),
    Send("f1", fields=of(6, START | END)),
    *ends("c1", "d1", "c2"),
    Send("a3", fields=of(1, END)),
    Send("d2", fields=of(4, END)),
    Send("e2", fields=of(5, END)),
    *ends("a2", "b2", "a3", "c2", "d1", "d2", "e1", "f1", "e2"),
    *ends("a3", "d1", "d2", "e1", "e2", "f1"),
    *ends("d2", "e1", "e2", "f1"),
    Send("a4", fields=of(1)),
]

OLDEST_MOVES: list[Move] = [
    *(Send(f"{name}1", fields=of(n, START)) for n, name in enumerate("abcd", 1)),
    *(Send(f"{name}2", fields=of(n)) for n, name in enumerate("ab", 1)),
    *ends("a1", "b1"),
    Send("b3", fields=of(2, END)),
    Send("c2", fields=of(3, END)),
    *ends("a2", "c1", "b2"),
    Send("a3", fields=of(1, END)),
    Send("d2", fields=of(4)),
    *4 * ends("b2", "c1", "b3", "c2", "a2", "a3", "d1", "d2"),
    Send("d3", fields=of(4, END)),
    Pass(),
    *ends("d3"),
]

DIRECT = f"sequence_batching {{ direct {{ }} {IDLE} }} "


def oldest(size: int, rules: str = "", count: int = 1, limits: str = "") -> str:
    """Return the configuration of a model that batches the oldest sequences."""
    rules = f"oldest {{ max_candidate_sequences: 3 {rules} }}"
    return (
        f"max_batch_size: {size} sequence_batching {{ {rules} {IDLE} }} "
        f"{limits or instances(count)}"
    )


SEQUENCE_CASES = {
    "direct": Case({"m": "max_batch_size: 1 " + DIRECT + instances(2)}, SEQUENCES),
    "direct in batches": Case(
        {"m": "max_batch_size: 2 " + DIRECT + instances(2)}, SEQUENCES
    ),
    "oldest": Case({"m": oldest(1)}, OLDEST_MOVES),
    "oldest in batches": Case({"m": oldest(2)}, OLDEST_MOVES),
    "oldest of a preferred size": Case(
        {"m": oldest(4, f"preferred_batch_size: 2 {DELAY}")}, OLDEST_MOVES
    ),
    "oldest on two instances": Case({"m": oldest(2, DELAY, 2)}, OLDEST_MOVES),
    "idle sequences": Case(
        {"m": "max_batch_size: 2 " + DIRECT.replace("600000000", "2300000")},
        [
            Send("a1", fields=of(1, START)),
            Send("b1", fields=of(2, START)),
            *ends("a1", "b1"),
            Send("b2", fields=of(2)),
            Pass(),
            Send("a2", fields=of(1)),
            Send("c1", fields=of(3, START)),
            *ends("b2", "b1", "c1"),
        ],
    ),
    "rates of sequences": Case(
        {"m": "max_batch_size: 2 " + DIRECT + limited(2, 1)},
        SEQUENCES + 4 * ends("a3", "c2", "d1", "d2", "e1", "e2", "f1"),
        True,
    ),
    "rates of oldest sequences": Case(
        {"m": oldest(2, limits=limited(2, 1))}, OLDEST_MOVES, True
    ),
}
