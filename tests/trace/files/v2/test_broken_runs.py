"""Run files with changed values or bytes: read, or refused with a reason."""

import random
import time

import pytest
from run_files import chunks_of, file_of, json_of
from test_run_reader import changed, small_run
from views.encoded import encode

from blsnb.errors import TraceFileError
from blsnb.trace.files.run_file import read_run
from blsnb.trace.files.v2.writer import write_run
from blsnb.views.tree import tree

LONGEST_S = 240


def broken(rng, whole, data):
    """Return a file with a value replaced, or with bytes changed, lost or repeated."""
    if rng.random() < 0.5:
        at = rng.randrange(len(whole))
        kind, value, body = whole[at]
        chunk = kind, changed(value, rng), body
        return file_of([*whole[:at], chunk, *whole[at + 1 :]])
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, count = rng.randrange(len(found)), rng.choice((0, 1, 4, 64))
        found[at : at + count] = rng.choice(
            (b"", rng.randbytes(count), bytes(found[at : at + count]) * 2)
        )
    return bytes(found)


@pytest.mark.parametrize(
    "count",
    [
        500,
        pytest.param(
            20_000, marks=[pytest.mark.slow, pytest.mark.timeout(2 * LONGEST_S)]
        ),
    ],
)
def test_broken_runs_are_read_or_refused(tmp_path, count, figures):
    """What is read can be shown."""
    rng = random.Random(count)
    path = tmp_path / "a.blsrun"
    write_run(small_run(), path)
    data = path.read_bytes()
    whole = [(each.type, json_of(each), each.body) for each in chunks_of(data)]
    deadline = time.monotonic() + LONGEST_S
    seen = {"read": 0, "refused": 0}

    while sum(seen.values()) < count and time.monotonic() < deadline:
        path.write_bytes(broken(rng, whole, data))
        try:
            trace = read_run(path).trace
        except TraceFileError:
            seen["refused"] += 1
            continue
        tree(trace)
        encode(trace)
        seen["read"] += 1

    figures(**{f"broken_run_files_{name}": found for name, found in seen.items()})
    assert seen["read"]
    assert seen["refused"]
