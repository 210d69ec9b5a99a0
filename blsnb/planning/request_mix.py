"""The requests of a planned load, and what a plan says of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from numbers import Real
from typing import Any

from blsnb.arguments import check_type, plain, several
from blsnb.model.config import ModelConfig
from blsnb.parts.requests import ClientRequest
from blsnb.planning.judgement import Judgement
from blsnb.planning.simulation.loads import Kind, Mix
from blsnb.printable import counted, rounded
from blsnb.views.format import time

_MAX_LENGTH = 100_000


def mix_of(
    request: ClientRequest,
    config: ModelConfig | None,
    priorities: Mapping[int, float] | None,
    sequence_lengths: Collection[int],
) -> Mix:
    """Return the requests of a load.

    Parameters
    ----------
    config
        Configuration of the model that clients call.
    priorities
        Shares of requests by priority; None or empty for that of the request.
    sequence_lengths
        Numbers of requests of sequences, equally frequent; empty without sequences.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A number is out of range, or the lengths of sequences are missing.
    """
    expected = "shares by priority, such as {1: 0.2}"
    check_type("priorities", priorities, Mapping | None, expected)
    priorities = {plain(priority): n for priority, n in (priorities or {}).items()}
    for priority, share in priorities.items():
        _check_priority(priority, share)
    check_type("sequence_lengths", sequence_lengths, Collection, "a list of numbers")
    lengths = several(sequence_lengths)
    for length in lengths:
        _check_length(length)
    if not lengths and config and config.scheduling == "sequence_batching":
        raise ValueError(
            f"model {request.model_name!r} has sequences; expected their numbers of "
            "requests, such as sequence_lengths=[8] (--sequence 8)"
        )
    fields = request.fields._replace(version=-1, parameters=(), request_id="")
    kinds = tuple(
        Kind(float(share), fields._replace(priority=priority))
        for priority, share in priorities.items()
    )
    return Mix(kinds or (Kind(1.0, fields),), tuple(lengths))


def load_findings(mix: Mix, found: Judgement) -> Iterator[str]:
    """Yield sentences about the requests of a load."""
    if mix.lengths:
        yield (
            f"{rounded(found.rate / mix.mean_length)} sequences/s of "
            f"{mix.mean_length:.3g} requests, each sent when the last was answered."
        )
    first_us, first_p99_us = found.firsts_us
    if not math.isnan(first_us):
        yield (
            f"The first response comes after {time(first_us)}, p99 "
            f"{time(first_p99_us)}; the latency of a stream is that of the last one."
        )
    for priority, (p50_us, p99_us) in found.by_priority.items():
        yield f"Priority {priority}: p50 {time(p50_us)}, p99 {time(p99_us)}."
    for text, count in found.refusals.items():
        yield f"Refused: {counted(count, 'request')} ({text})."
    if found.delayed:
        yield (
            f"Delayed: {counted(found.delayed, 'request')} expired in the queue and "
            "were executed after all others."
        )


def _check_priority(priority: Any, share: Any) -> None:
    is_number = isinstance(share, Real) and not isinstance(share, bool)
    is_share = is_number and 0 < share < math.inf
    if type(priority) is not int or priority < 0 or not is_share:
        raise ValueError(
            f"priorities={{{priority!r}: {share!r}}} is not valid; expected shares of "
            "more than 0 by priority, such as {1: 0.2, 2: 0.8}"
        )


def _check_length(length: Any) -> None:
    if type(length) is not int or not 1 <= length <= _MAX_LENGTH:
        raise ValueError(
            f"sequence_lengths=[{length!r}] is not valid; expected numbers of requests "
            f"from 1 to {_MAX_LENGTH:,}"
        )
