"""A recorded run."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, calling

from blsnb import Run, Server

X = {"X": np.array([1, 2], np.float32)}


@pytest.fixture
def run(server: Server) -> Run:
    """A run of two calls."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", calling("double"), config=CONFIG)
    return server.infer("outer", X)
