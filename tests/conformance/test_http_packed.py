"""Compressed bodies over HTTP, beside the real server."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from .covering import rows
from .over_http import Ask, End
from .targets import Target

Agree = Callable[..., None]
Served = Callable[[Target], End]
ADD = "/v2/models/add/infer"
INPUT = {"shape": [4], "datatype": "FP32", "data": [1, 2, 3, 4]}
BODY = json.dumps({"inputs": [{"name": "A", **INPUT}, {"name": "B", **INPUT}]}).encode()
PACKED = {
    "gzip": ("gzip", gzip.compress(BODY, mtime=0)),
    "deflate": ("deflate", zlib.compress(BODY)),
    "the other one": ("gzip", zlib.compress(BODY)),
    "without a head": ("deflate", zlib.compress(BODY)[2:-4]),
    "cut": ("gzip", gzip.compress(BODY, mtime=0)[:-10]),
    "with a tail": ("gzip", gzip.compress(BODY, mtime=0) + b"tail"),
    "not packed": ("gzip", BODY),
    "empty": ("gzip", b""),
    "unknown": ("br", BODY),
    "two": ("gzip, deflate", BODY),
    "large letters": ("GZIP", BODY),
    "nothing": ("", BODY),
    "identity": ("identity", BODY),
}


@rows("r6.2/post-infer")
@pytest.mark.parametrize(("encoding", "body"), PACKED.values(), ids=PACKED)
def test_a_packed_body(
    agree: Agree, served: Served, encoding: str, body: bytes
) -> None:
    """It is decompressed as far as possible."""
    ask = Ask(ADD, body, headers={"Content-Encoding": encoding})

    agree(lambda target: served(target).have("add").ask(ask))


WANTED = (
    "gzip",
    "deflate",
    "gzip, deflate",
    "deflate;q=0.5, gzip;q=0.9",
    "deflate,gzip",
    "identity;q=0.5,gzip;q=0.1",
    "br",
    "*",
    "gzip;q=x",
    "gzip;q=0",
    "",
)


@rows("r6.2/post-infer")
def test_a_packed_answer(agree: Agree, served: Served) -> None:
    """The client's preference among Triton's compressions decides."""
    asks = [Ask(ADD, BODY, headers={"Accept-Encoding": each}) for each in WANTED]

    agree(lambda target: served(target).have("add").each(asks))
