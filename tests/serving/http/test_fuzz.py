"""Random HTTP requests: each is answered, or its connection closed."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from attacks import Figures
from cells import CONFIG, DOUBLE, cell

SHORT_S, LONG_S = 3.0, 30.0
LENGTH = "Inference-Header-Content-Length"
ANY = """
max_batch_size: 4
input { name: "T" data_type: TYPE_STRING dims: [ -1 ] optional: true }
input { name: "N" data_type: TYPE_INT16 dims: [ 2 ] optional: true }
input { name: "D" data_type: TYPE_FP64 dims: [ -1, 2 ] optional: true }
input { name: "L" data_type: TYPE_BOOL dims: [ 1 ] optional: true }
output { name: "T" data_type: TYPE_STRING dims: [ -1 ] }
output { name: "N" data_type: TYPE_INT16 dims: [ 2 ] }
output { name: "D" data_type: TYPE_FP64 dims: [ -1, 2 ] }
output { name: "L" data_type: TYPE_BOOL dims: [ 1 ] }
"""
ECHO = cell("return [pb_utils.InferenceResponse(each.inputs()) for each in requests]")
EACH = cell(
    """
    sender = request.get_response_sender()
    for value in x_of(request)[:3]:
        sender.send(reply(np.array([value], np.float32)))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """
)
INTERESTING = (
    *(0, 1, -1, 2, 3, 4, 255, 2**15, 2**31, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30),
    *(
        0.5,
        -0.0,
        1e300,
        True,
        False,
        None,
        "",
        "A",
        "X",
        "é",
        "\0",
        "\ud800",
        "x" * 200,
    ),
    *([], [[]], [1], {}, {"a": 1}, "FP32", "BYTES", "FP16", "INT16", "BOOL"),
)
KEYS = (
    *("id", "inputs", "outputs", "parameters", "name", "shape", "datatype", "data"),
    *("binary_data_size", "binary_data", "classification", "shared_memory_region"),
    *("shared_memory_offset", "shared_memory_byte_size", "sequence_id", "priority"),
    *("timeout", "sequence_start", "binary_data_output", "triton_x", "ready", "key"),
    *("byte_size", "offset", "raw_handle", "trace_level", "trace_rate", "log_format"),
    *("log_verbose_level", "unload_dependents", "X", "T", "N"),
)
HEADERS = (
    (LENGTH, ("0", "5", "-1", "99999", "x", "2147483648", "")),
    ("Content-Encoding", ("gzip", "deflate", "br", "", "identity")),
    ("Accept-Encoding", ("gzip", "deflate;q=x", ",,;q=", "*", "gzip;q=1e999")),
    ("Content-Type", ("", "application/json", "nothing/at all")),
)


class Seed(NamedTuple):
    """A valid request."""

    path: str
    body: Any
    tail: bytes = b""


def tensor(name: str, datatype: str, shape: list[int], data: Any) -> dict[str, Any]:
    """Return an input."""
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


X = tensor("X", "FP32", [2], [1, 2.5])
ALL = [
    tensor("T", "BYTES", [1, 2], ["a", "é"]),
    tensor("N", "INT16", [1, 2], [1, -2]),
    tensor("D", "FP64", [1, 1, 2], [[[0.5, 1]]]),
    tensor("L", "BOOL", [1, 1], [True]),
]
BINARY = {
    **tensor("X", "FP32", [2], None),
    "parameters": {"binary_data_size": 8},
}
BINARY.pop("data")
PARAMETERS = {"a": 1, "priority": 1, "timeout": 5, "binary_data_output": True}
SEEDS = (
    Seed(
        "/v2/models/double/infer",
        {"inputs": [X], "id": "q", "outputs": [{"name": "Y"}]},
    ),
    Seed("/v2/models/double/infer", {"inputs": [X], "parameters": PARAMETERS}),
    Seed("/v2/models/double/infer", {"inputs": [BINARY]}, bytes(8)),
    Seed("/v2/models/any/infer", {"inputs": ALL}),
    Seed(
        "/v2/models/double/infer",
        {
            "inputs": [X],
            "outputs": [{"name": "Y", "parameters": {"classification": 2}}],
        },
    ),
    Seed("/v2/models/double/generate", {"X": [1, 2], "p": "q", "parameters": {"r": 1}}),
    Seed("/v2/models/any/generate", {"T": ["a"], "N": [1, 2], "L": True}),
    Seed("/v2/models/each/generate_stream", {"X": [1, 2]}),
    Seed("/v2/repository/index", {"ready": True}),
    Seed("/v2/repository/models/none/load", {"parameters": {"config": "{}"}}),
    Seed("/v2/repository/models/none/unload", {"parameters": {}}),
    Seed("/v2/trace/setting", {"trace_level": ["OFF"], "trace_rate": "5"}),
    Seed("/v2/models/double/trace/setting", {"trace_count": None}),
    Seed("/v2/logging", {"log_info": True, "log_verbose_level": 0}),
    Seed(
        "/v2/systemsharedmemory/region/r/register",
        {"key": "/nope", "offset": 0, "byte_size": 8},
    ),
    Seed(
        "/v2/cudasharedmemory/region/r/register",
        {"raw_handle": {"b64": "AAAA"}, "byte_size": 8, "device_id": 0},
    ),
)


def changed(value: Any, dice: random.Random) -> Any:
    """Return a value with one random change."""
    if dice.random() < 0.2 or not isinstance(value, list | dict) or not value:
        return dice.choice(INTERESTING)
    if isinstance(value, list):
        found = list(value)
        place = dice.randrange(len(found))
        if dice.random() < 0.2:
            found.insert(place, dice.choice((*INTERESTING, *found)))
        else:
            found[place] = changed(found[place], dice)
        return found
    members = dict(value)
    key = dice.choice([*members, dice.choice(KEYS)])
    if key in members and dice.random() < 0.15:
        del members[key]
    else:
        members[key] = changed(members.get(key), dice)
    return members


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Return bytes with random replacements, deletions and insertions."""
    found = bytearray(data or b"x")
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(found) or 1)
        match dice.randrange(4):
            case 0:
                found[place : place + 1] = bytes([dice.randrange(256)])
            case 1:
                del found[place : place + dice.randint(1, 20)]
            case 2:
                found[place:place] = dice.randbytes(dice.randint(1, 20))
            case _:
                del found[place:]
    return bytes(found)


def bodies(dice: random.Random) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Yield path, body and headers of requests that may be invalid."""
    while True:
        seed = dice.choice(SEEDS)
        value = seed.body
        for _ in range(dice.choice((0, 1, 1, 2, 3))):
            value = changed(value, dice)
        text = json.dumps(value).encode()
        headers = {LENGTH: str(len(text))} if seed.tail else {}
        body = text + seed.tail
        if dice.random() < 0.3:
            body = damaged(body, dice)
        if dice.random() < 0.2:
            name, values = dice.choice(HEADERS)
            headers[name] = dice.choice(values)
        yield seed.path, body, headers


def heads(dice: random.Random) -> Iterator[bytes]:
    """Yield requests whose syntax may be damaged."""
    for path, body, headers in bodies(dice):
        named = {"Host": "x", "Content-Length": str(len(body)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        whole = f"POST {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n"
        yield damaged(whole.encode(), dice) + body


def check_body(served: Any, path: str, body: bytes, headers: dict[str, str]) -> None:
    """Assert that a request gets a valid response."""
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    status, found = served.ask(path, body, **named)
    wrong = json.dumps([path, body.hex(), headers, status, str(found)])
    assert status in (200, 400, 404, 500, 501, 503), wrong
    if status != 200 and not path.endswith("generate_stream"):
        assert ["error"] == list(found), wrong
        assert not found["error"].startswith("unexpected error:"), wrong


def check_head(served: Any, sent: bytes) -> None:
    """Assert that damaged syntax gets a response or ends the connection."""
    with served.connect() as client, contextlib.suppress(OSError):
        client.sendall(sent)
        client.shutdown(1)
        found = b"".join(iter(lambda: client.recv(1 << 16), b""))
        assert b"" == found or found.startswith(b"HTTP/1."), [sent.hex(), found]


def fuzzed(served: Any, seconds: float, number: int) -> int:
    """Send requests for some seconds and count them; the server responds as before."""
    served.server.define("double", DOUBLE, config=CONFIG)
    served.server.define("any", ECHO, config=ANY)
    decoupled = f"{CONFIG} model_transaction_policy {{ decoupled: true }}"
    served.server.define("each", EACH, config=decoupled)
    dice = random.Random(number)
    requests, sent = bodies(dice), heads(dice)
    deadline = time.monotonic() + seconds
    count = 0
    while time.monotonic() < deadline:
        for _ in range(10):
            check_body(served, *next(requests))
        check_head(served, next(sent))
        count += 11
    status, found = served.infer("double", [1, 2])
    assert (200, [2, 4]) == (status, found["outputs"][0]["data"])
    return count


def test_every_request_is_answered(http_served: Any) -> None:
    """The test lasts a few seconds."""
    fuzzed(http_served, SHORT_S, 1)


@pytest.mark.slow
def test_every_request_is_answered_for_long(http_served: Any, figures: Figures) -> None:
    """The requests differ each day."""
    number = int(time.time())
    print(f"seed {number}")
    figures(random_requests=fuzzed(http_served, LONG_S, number))
