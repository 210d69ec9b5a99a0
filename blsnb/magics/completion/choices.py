"""Values of enumerated arguments: ``trace_level="``, ``runtime="`` and others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from blsnb.engine.loading.startup import ControlMode
from blsnb.engine.scheduling.resource_admission import RATE_LIMITS
from blsnb.magics.completion.cursor import Bracket
from blsnb.pb_utils.compiled.releases import FEATURES
from blsnb.release import OLDEST
from blsnb.runtimes import NAMES
from blsnb.trace.events import LEVELS
from blsnb.trace.files.export import FORMATS

TARGETS = ("local", "grpc://")
"""Servers with which a model is compared: one that is started, or an address."""
_RELEASES = tuple(
    f"{year}.{month:02}"
    for year, month in sorted({OLDEST, *(each.since for each in FEATURES.values())})
)
"""The oldest release, and those that change what models or clients observe."""
_SETTINGS: dict[str, tuple[str, ...]] = {
    "runtime": NAMES,
    "trace_level": LEVELS,
    "triton_release": _RELEASES,
}
_OPTIONS = {**_SETTINGS, "static": ("png",)}
_KEYWORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "Server": {
        **_SETTINGS,
        "model_control_mode": tuple(map(str, ControlMode)),
        "rate_limit": RATE_LIMITS,
    },
    "using": _OPTIONS,
    "bench": {"trace_level": LEVELS},
    "compare": {"target": TARGETS},
    "export_trace": {"format": tuple(FORMATS)},
    "use_runtime": {"runtime": NAMES},
}
"""The values of keyword arguments, by function."""
_POSITIONS = {("use_runtime", 0): "runtime", ("export_trace", 1): "format"}
_ASSIGNED = re.compile(r"\boptions\.(\w+)\s*=\s*$")


def argument_choices(call: Bracket) -> Iterable[str]:
    """Return the values of the argument at the cursor, if they are enumerated."""
    keyword = call.keyword or _POSITIONS.get((call.function, call.index), "")
    return _KEYWORDS.get(call.function, {}).get(keyword, ())


def option_choices(before: str) -> Iterable[str]:
    """Return the values of an assignment to ``blsnb.options`` before a string."""
    found = _ASSIGNED.search(before)
    return _OPTIONS.get(found[1], ()) if found else ()
