"""Small requests that would need much memory, from several clients at once."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest
from attacks import Figures
from peak_memory import measure
from raising import CONFIG, EXECUTE, HEAD

from blsnb.files.read_budget import MAX_BYTES, RATIO

MB = 1 << 20
CLIENTS = 6
NOISE = 24 * MB
"""Bytes by which six threads and a server vary."""
PREPARE = """
import sys, time, urllib.error, urllib.request
from concurrent.futures import ThreadPoolExecutor
import blsnb
from blsnb.serving.endpoints import serve

source, config, small, flood = (open(path, "rb").read() for path in sys.argv[1:])
server = blsnb.Server()
server.define("same", source.decode(), config=config.decode())
endpoints = serve(server, http=0, grpc=None, metrics=None)
address = endpoints.addresses["HTTP"]

def ask(body):
    url = f"http://{address.removeprefix('http://')}/v2/models/same/infer"
    request = urllib.request.Request(url, body, {"Content-Encoding": "deflate"})
    try:
        with urllib.request.urlopen(request, timeout=100) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return [error.code, "read_limit_bytes" in error.read().decode()]

clients = ThreadPoolExecutor(6)
list(clients.map(ask, [small] * 6))
"""
WORK = """
began = time.process_time()
responses = [clients.submit(ask, flood) for _ in range(6)]
refusals = [each.result() for each in responses]
result = [refusals, ask(small), time.process_time() - began]
endpoints.close()
server.close()
"""


def body(values: list[float]) -> bytes:
    """A compressed request."""
    given = {"name": "X", "shape": [len(values)], "datatype": "FP32", "data": values}
    return zlib.compress(json.dumps({"inputs": [given]}).encode())


def repeated(piece: bytes, size: int) -> bytes:
    """Return compressed repetitions of a piece, without the end of the stream."""
    pack = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = piece * (MB // len(piece))
    first = pack.compress(block) + pack.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\x9c" + first * (size // MB)


FLOODS = [
    pytest.param(b"[],", 60 * MB, id="lists"),
    pytest.param(b"1e999,", 60 * MB, id="unusual numbers", marks=pytest.mark.slow),
    pytest.param(b"\0", 2048 * MB, id="2 GiB of zeros", marks=pytest.mark.slow),
    pytest.param(b"[],", 2048 * MB, id="2 GiB of lists", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("piece", "size"), FLOODS)
def test_six_floods_at_once_take_six_times_the_limit(
    tmp_path: Path, piece: bytes, size: int, figures: Figures
) -> None:
    """They are refused within seconds, and other clients are served."""
    flood = repeated(piece, size)
    source = f"{HEAD}class TritonPythonModel:{EXECUTE}"
    files = {"source": source.encode(), "config": CONFIG.encode()}
    files |= {"small": body([1, 2]), "flood": flood}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    grown, (refusals, usual, seconds) = measure(
        PREPARE, WORK, *(tmp_path / name for name in files)
    )

    limit = min(RATIO * len(flood), MAX_BYTES)
    assert [[400, True]] * CLIENTS == refusals
    assert 200 == usual
    assert grown <= CLIENTS * limit + NOISE
    assert seconds < 20
    figures(floods=CLIENTS, inflated_MiB=CLIENTS * size // MB)
