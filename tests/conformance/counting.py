"""Counts of a model: statistics and lines of the metrics page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as pb
from waiting import until

from .scripted import pause
from .targets import Target

SETTLES_S = 0.03
T = TypeVar("T")


def statistics(target: Target, model: str) -> dict[str, Any]:
    """Return the statistics of a model's only version, in Triton's form."""
    if target.name == "blsnb":
        found = target.server.statistics(model)["model_stats"]  # type: ignore[attr-defined]
        return json.loads(json.dumps(found[0]))
    request = pb.ModelStatisticsRequest(name=model)
    reply = target.server.stub.ModelStatistics(request)  # type: ignore[attr-defined]
    return json_format.MessageToDict(
        reply.model_stats[0],
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )


def counted(target: Target, model: str, requests: int) -> dict[str, Any]:
    """Return the counts of a model once they include a number of requests.

    Durations are replaced by whether they exist, the time of the last inference by
    whether it was just now.
    """

    def complete(found: dict[str, Any]) -> bool:
        stats = found["inference_stats"]
        return requests <= sum(_count(stats[key]) for key in ("success", "fail"))

    return _plain(settled(lambda: statistics(target, model), complete))


def settled(read: Callable[[], T], complete: Callable[[T], bool] = bool) -> T:
    """Return what is read once it is complete and no longer changes.

    Triton counts shortly after the response, a failed execution after its requests.
    """
    found = read()

    def rests() -> bool:
        nonlocal found
        before, found = found, read()
        if complete(found) and before == found:
            return True
        pause(SETTLES_S)
        return False

    pause(SETTLES_S)
    until(rests)
    return found


def _count(entry: dict[str, Any]) -> int:
    return int(entry["count"])


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    """Return the values that do not depend on the clock."""
    ago_ms = time.time() * 1000 - int(found["last_inference"])
    return {
        "name": [found["name"], found["version"]],
        "last": "never" if not int(found["last_inference"]) else ago_ms < 60_000,
        "counts": [int(found["inference_count"]), int(found["execution_count"])],
        "stats": {key: _sums(each) for key, each in found["inference_stats"].items()},
        "batches": [
            [int(each["batch_size"]), *map(_sums, _phases(each))]
            for each in found["batch_stats"]
        ],
        "rest": [found["response_stats"], found["memory_usage"]],
    }


def _phases(batch: dict[str, Any]) -> list[dict[str, Any]]:
    return [batch[f"compute_{name}"] for name in ("input", "infer", "output")]


def _sums(entry: dict[str, Any]) -> int | str:
    """Return a count, and whether time and count contradict each other."""
    count, ns = _count(entry), int(entry["ns"])
    return count if bool(count) == (ns > 0) else f"{count}, {ns} ns"


def samples(target: Target, model: str, *families: str) -> list[str]:
    """Return the lines of a model on the metrics page, of some families."""
    label = f'model="{model}"'
    return sorted(
        line
        for line in target.metrics().splitlines()
        if label in line and line.startswith(families)
    )
