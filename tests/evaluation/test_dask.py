"""Rows on a Dask cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

DASK = """
import sys
from distributed import Client, LocalCluster
from blsnb.inference_server import Server
from evaluation.test_workers import DOUBLE, MODEL, outputs, rows

if __name__ == "__main__":
    options = {"n_workers": 1, "threads_per_worker": 1, "host": "127.0.0.1"}
    with Server() as server, LocalCluster(**options, dashboard_address=None) as cluster:
        server.define(MODEL, DOUBLE)
        here = server.evaluate(MODEL, rows(1000))
        with Client(cluster) as client:
            executor = client.get_executor()
            there = server.evaluate(MODEL, rows(1000), executor=executor, workers=1)
        assert outputs(here) == outputs(there)
        assert here.errors == there.errors
        print(len(there), "rows agree")
"""


@pytest.mark.skipif(find_spec("distributed") is None, reason="dask is not installed")
def test_dask_gives_the_answers_of_this_process(tmp_path: Path) -> None:
    """A cluster of one process, in a process of its own: Dask leaves threads."""
    script = tmp_path / "script.py"
    script.write_text(DASK)
    ended = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
        check=False,
    )
    assert "1000 rows agree" in ended.stdout, ended.stderr
