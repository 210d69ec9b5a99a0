"""The twelve cases. They were written before the world they judge."""

from __future__ import annotations

from benchmarks.planning.case import Case, Model, Sequences, ensemble


def _waits(ms: float, instances: int = 1, spread: float = 0.0) -> Model:
    return Model("worker", instances, {"WAIT_MS": ms, "SPREAD": spread})


def _works(units: float, instances: int = 1) -> Model:
    return Model("worker", instances, {"WORK": units})


def _chain(calls: str, instances: int, work: float = 0.0) -> Model:
    return Model("chain", instances, {"CALLS": calls, "WORK": work})


def _batches(
    delay_us: int, instances: int = 1, more: str = "", **parameters: float
) -> Model:
    text = f"dynamic_batching {{ max_queue_delay_microseconds: {delay_us} {more} }}"
    return Model("worker", instances, parameters, text, batch=8)


CASES = (
    Case(
        "chain_waiting",
        101,
        "chain",
        {
            "chain": _chain("a b c", 6),
            "a": _waits(4),
            "b": _waits(6, 2, 0.3),
            "c": _waits(3),
        },
    ),
    Case(
        "chain_computing",
        201,
        "chain",
        {"chain": _chain("a b", 4, 2), "a": _works(6, 2), "b": _works(4)},
    ),
    Case(
        "chain_branching",
        301,
        "chain",
        {
            "chain": _chain("often rarely?0.3", 8),
            "often": _waits(3, 1, 0.2),
            "rarely": _waits(15, 2, 0.2),
        },
    ),
    Case(
        "fan_out",
        401,
        "fan",
        {
            "fan": Model("fan_out", 4, {"CALLS": "part part part part"}),
            "part": _waits(6, 6, 0.3),
        },
    ),
    Case(
        "fan_out_mixed",
        501,
        "fan",
        {
            "fan": Model("fan_out", 4, {"CALLS": "waits works", "LAST": "last"}),
            "waits": _waits(8, 3, 0.2),
            "works": _works(8),
            "last": _waits(2),
        },
    ),
    Case(
        "batching_delay",
        601,
        "net",
        {"net": _batches(3_000, WAIT_MS=4, WAIT_EACH_MS=1)},
    ),
    Case(
        "batching_preferred",
        701,
        "net",
        {
            "net": _batches(
                6_000, 2, "preferred_batch_size: [4, 8]", WAIT_MS=10, WORK_EACH=1
            )
        },
    ),
    Case(
        "chain_batching",
        801,
        "chain",
        {
            "chain": _chain("net b", 8),
            "net": _batches(2_000, WAIT_MS=4, WAIT_EACH_MS=1),
            "b": _waits(5, 2, 0.3),
        },
    ),
    Case(
        "sequences",
        901,
        "state",
        {
            "state": Model(
                "worker",
                4,
                {"WAIT_MS": 8, "SPREAD": 0.3},
                "sequence_batching { direct { } max_sequence_idle_microseconds: "
                "60000000 }",
            )
        },
        Sequences(open=4, length=5),
    ),
    Case(
        "ensemble_of_bls",
        1001,
        "whole",
        {
            "whole": ensemble("before", "chain", "after"),
            "before": _waits(3, 2),
            "chain": _chain("a b", 4),
            "a": _waits(5, 2, 0.3),
            "b": _waits(4, 1),
            "after": _waits(2),
        },
    ),
    Case(
        "bls_of_ensembles",
        1101,
        "chain",
        {
            "chain": _chain("pair pair", 6),
            "pair": ensemble("first", "second"),
            "first": _waits(3, 2, 0.3),
            "second": _waits(4, 3),
        },
    ),
    Case(
        "mixed",
        1201,
        "whole",
        {
            "whole": ensemble("chain", "fan"),
            "chain": _chain("works waits", 4, 1),
            "fan": Model("fan_out", 4, {"CALLS": "net net waits"}),
            "works": _works(4),
            "waits": _waits(6, 4, 0.3),
            "net": _batches(2_000, 2, WAIT_MS=3, WORK_EACH=0.5),
        },
    ),
)
