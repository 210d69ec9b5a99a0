"""Saves of a run that are killed at every line, each in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
from cells import CONFIG, cell
from faults import FILES, LineFault, lines_of

from blsnb import Run, Server, load_run

ROOMS = (*FILES, "results", "trace/files")


def killed(run: Run, path: Path, number: int) -> str:
    """Save in a child that is killed before a line; return the line."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:

        def kill() -> None:
            os.write(writing, fault.where.encode())
            os.kill(os.getpid(), signal.SIGKILL)

        fault = LineFault(number, ROOMS, kill)
        fault.during(lambda: run.save(path))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        where = file.read()
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) == bool(where), "the child failed"
    return where


def main(path: Path, step: int) -> None:
    """Kill saves at every `step`-th line; check the folder, and save again."""
    source = cell("return [reply(x_of(request) * 2)]")
    with Server() as server:
        server.define("m", source, config=CONFIG)
        old = server.infer("m", {"X": np.ones(1, np.float32)})
        new = server.infer("m", {"X": np.full(1, 2, np.float32)})
    old.save(path)
    before = path.read_bytes()
    lines = lines_of(lambda: new.save(path), ROOMS)
    after = path.read_bytes()
    for number in range(1, lines + 1, step):
        path.write_bytes(before)
        print(number, killed(new, path, number), flush=True)
        assert path.read_bytes() in (before, after)
        if path.suffix == ".blsrun":
            assert load_run(path)["Y"].tolist() in ([2.0], [4.0])
        new.save(path)
        assert after == path.read_bytes()
        assert [path] == list(path.parent.iterdir())
    print(f"of {lines} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
