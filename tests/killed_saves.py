"""Saves of a run that are killed at every line, each in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from cells import CONFIG, cell
from faults import FILES, killed, lines_of

from blsnb import Server, load_run

ROOMS = (*FILES, "results", "trace/files")


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
        print(number, killed(lambda: new.save(path), ROOMS, number), flush=True)
        assert path.read_bytes() in (before, after)
        if path.suffix == ".blsrun":
            assert load_run(path)["Y"].tolist() in ([2.0], [4.0])
        new.save(path)
        assert after == path.read_bytes()
        assert [path] == list(path.parent.iterdir())
    print(f"of {lines} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
