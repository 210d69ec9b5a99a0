"""Settings and shared memory over HTTP, beside the real server."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import pytest

from .covering import rows
from .over_http import Ask, End
from .targets import Target

Agree = Callable[..., None]
Served = Callable[[Target], End]

ADD = "/v2/models/add"
TRACE, LOGGING = "/v2/trace/setting", "/v2/logging"
SYSTEM, CUDA = "/v2/systemsharedmemory", "/v2/cudasharedmemory"
HANDLE = base64.b64encode(bytes(64)).decode()
NUMBERS = ("x", "5", "-1", "-5", "5x", "", " 7", "99999999999", "4294967295", "+3")
BACK = {name: None for name in ("trace_rate", "trace_count", "log_frequency")}
TRACED = {
    "told": [Ask(TRACE), Ask(f"{ADD}/trace/setting")],
    "levels": [
        Ask(TRACE, {"trace_level": given})
        for given in (
            ["OFF"],
            ["TIMESTAMPS"],
            ["TENSORS", "TIMESTAMPS"],
            ["OFF", "TENSORS"],
            ["NOPE"],
            ["MAX"],
            [],
            None,
        )
    ],
    "rate": [Ask(TRACE, {"trace_rate": each}) for each in NUMBERS],
    "count": [Ask(TRACE, {"trace_count": each}) for each in NUMBERS],
    "frequency": [Ask(TRACE, {"log_frequency": each}) for each in NUMBERS],
    "types": [
        Ask(TRACE, {"trace_rate": 5}),
        Ask(TRACE, {"trace_count": True}),
        Ask(TRACE, {"trace_level": "OFF"}),
        Ask(TRACE, {"trace_level": [1]}),
        Ask(TRACE, b""),
        Ask(TRACE, b"[]"),
    ],
    "file": [Ask(TRACE, {"trace_file": name}) for name in ("f", None, 5)],
    "unknown key": [
        Ask(TRACE, {"nope": 1}),
        Ask(TRACE, {"trace_mode": "opentelemetry"}),
    ],
    "of models": [
        Ask("/v2/models/nope/trace/setting"),
        Ask("/v2/models/nope/trace/setting", {"trace_rate": "1"}),
        Ask(f"{ADD}/trace/setting", {"trace_rate": "3", "trace_count": "4"}),
        Ask(TRACE),
    ],
    "null": [
        Ask(TRACE, {"trace_rate": "8"}),
        Ask(f"{ADD}/trace/setting", {"trace_rate": "3"}),
        Ask(f"{ADD}/trace/setting", {"trace_rate": None}),
        Ask(TRACE, {"trace_rate": None}),
        Ask(f"{ADD}/trace/setting"),
    ],
}


@rows(
    "r6.2/get-post-trace-setting-v2-trace",
    {
        "levels": "r5.2/levels-off-timestamps-tensors-list",
        "rate": "r5.2/trace_rate-x",
        "count": "r5.2/trace_count-5",
        "types": "r5.2/number-instead-of-string",
        "file": "r5.2/trace_file",
        "unknown key": "r5.2/unknown-key-trace_mode",
        "of models": "r5.2/model-specific-unknown-model",
        "null": "r5.2/value-null",
    },
)
@pytest.mark.parametrize("asks", TRACED.values(), ids=TRACED)
def test_trace_settings(agree: Agree, served: Served, asks: list[Ask]) -> None:
    """They are returned and changed; a trace needs a file, which is missing."""

    def case(target: Target) -> list[Any]:
        end = served(target).have("add")
        try:
            return end.each(asks)
        finally:
            end.each([Ask(TRACE, BACK), Ask(f"{ADD}/trace/setting", BACK)])

    agree(case)


AS_BEFORE = {
    "log_info": True,
    "log_warning": True,
    "log_error": True,
    "log_verbose_level": 0,
    "log_format": "default",
}
LOGGED = [
    {"log_file": "f"},
    {"log_file": None},
    {"log_file": 5},
    {"log_info": False},
    {"log_info": 1},
    {"log_warning": False, "log_error": False},
    {"log_verbose_level": 3},
    {"log_verbose_level": -1},
    {"log_verbose_level": "3"},
    {"log_verbose_level": 2**40},
    {"log_verbose_level": 2**31},
    {"log_verbose_level": 1.5},
    {"log_format": "ISO8601"},
    {"log_format": "x"},
    {"log_format": 5},
    {"nope": 1},
    {"log_info": True, "log_format": "zz"},
    [],
]


@rows("r6.2/get-post-v2-logging")
def test_log_settings(agree: Agree, served: Served) -> None:
    """They are returned and changed."""

    def case(target: Target) -> list[Any]:
        end = served(target)
        asks = [Ask(LOGGING), *(Ask(LOGGING, each) for each in LOGGED)]
        try:
            return end.each([*asks, Ask(LOGGING, b"")])
        finally:
            end.ask(Ask(LOGGING, AS_BEFORE))

    agree(case)


@pytest.fixture
def key() -> Iterator[str]:
    """The key of a shared memory object of two pages."""
    memory = SharedMemory(create=True, size=8192)
    try:
        yield memory.name
    finally:
        memory.close()
        memory.unlink()


def registered(key: str) -> list[Ask]:
    """Return the requests about regions that Triton answers reliably."""
    region = f"{SYSTEM}/region"
    return [
        Ask(f"{SYSTEM}/status"),
        Ask(f"{region}/a/status"),
        Ask(f"{CUDA}/region/a/status"),
        Ask(f"{region}/a/register", {"key": key, "byte_size": 9000}),
        Ask(f"{region}/a/register", {"key": key, "byte_size": 0}),
        Ask(f"{region}/a/register", {"key": key, "byte_size": 8, "offset": 1}),
        Ask(f"{region}/a/register", {"key": "/nope", "byte_size": 8}),
        Ask(f"{region}/a/register", {"key": "a/b", "byte_size": 8}),
        Ask(f"{region}/a/register", {"key": 5, "byte_size": 8}),
        Ask(f"{region}/a/register", {"key": key}),
        Ask(f"{region}/a/register", {"byte_size": 8}),
        Ask(f"{region}/a/register", {"key": key, "byte_size": -1}),
        Ask(f"{region}/a/register", {"key": key, "byte_size": 8, "offset": "1"}),
        Ask(f"{region}/a/register", b""),
        Ask(f"{region}/a/register", b"[]"),
        Ask(f"{SYSTEM}/register", {"key": key, "byte_size": 8}),
        Ask(f"{region}/a/register", {"key": key, "byte_size": 4096}),
        Ask(f"{region}/a/register", {"key": key, "byte_size": 4096}),
        Ask(f"{region}/a/status"),
        Ask(f"{SYSTEM}/status"),
        Ask(f"{CUDA}/region/a/status"),
        Ask(f"{CUDA}/region/a/unregister", b""),
        Ask(f"{region}/nope/unregister", b""),
        Ask(f"{region}/a/unregister", b""),
        Ask(f"{SYSTEM}/unregister", b""),
        Ask(f"{SYSTEM}/status"),
    ]


@rows("r6.2/get-v2-systemsharedmemory-status")
def test_regions_of_shared_memory(agree: Agree, served: Served, key: str) -> None:
    """They are registered, listed and unregistered."""

    def case(target: Target) -> list[Any]:
        found = served(target).each(registered(key))
        return [*_without(key, found)]

    agree(case)


def _without(key: str, found: Any) -> Any:
    if isinstance(found, str):
        return re.sub(re.escape(key), "<key>", found)
    if isinstance(found, list):
        return [_without(key, each) for each in found]
    if isinstance(found, dict):
        return {name: _without(key, each) for name, each in found.items()}
    return found


RAW = {"raw_handle": {"b64": HANDLE}, "byte_size": 64, "device_id": 0}
DEVICES = [
    {},
    RAW,
    {**RAW, "raw_handle": {"b64": "aaaa"}},
    {**RAW, "raw_handle": {}},
    {**RAW, "raw_handle": 5},
    {"raw_handle": {"b64": HANDLE}, "byte_size": 64},
    {"raw_handle": {"b64": HANDLE}, "device_id": 0},
]


def test_regions_of_a_device(agree: Agree, served: Served) -> None:
    """A server without a GPU has none."""

    def case(target: Target) -> list[Any]:
        end = served(target)
        asks = [Ask(f"{CUDA}/region/c/register", each) for each in DEVICES]
        return end.each(
            [
                *asks,
                Ask(f"{CUDA}/status"),
                Ask(f"{CUDA}/region/c/status"),
                Ask(f"{CUDA}/unregister", b""),
                Ask(f"{CUDA}/register", {}),
            ]
        )

    agree(case)
