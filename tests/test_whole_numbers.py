"""Arguments that are whole numbers take neither bools nor fractions."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

from blsnb import Server
from blsnb.evaluation.verdict import Requirements
from blsnb.options import Options
from blsnb.watch.trace_settings import RemoteTraceSettings

X = {"X": [1, 2]}
BENCH = {"requests": 2, "duration_s": 1}
OF_A_REQUEST = ("priority", "timeout_us", "version", "correlation_id")
OF_A_SERVER = ("log_verbose", "otlp_rate", "otlp_count", "keep_runs", "cache_bytes")
ARGUMENTS = {
    "bench requests": lambda s, n: s.bench("double", X, requests=n),
    "bench concurrency": lambda s, n: s.bench("double", X, concurrency=n, **BENCH),
    "bench levels": lambda s, n: s.bench("double", X, concurrency=[1, n], **BENCH),
    "bench seed": lambda s, n: s.bench("double", X, seed=n, **BENCH),
    "bench warm-up": lambda s, n: s.bench("double", X, warm_up_requests=n, **BENCH),
    "standin random": lambda s, n: s.standin("double", random=n),
    "evaluate batch": lambda s, n: s.evaluate("double", [X], batch=n),
    "evaluate keep": lambda s, n: s.evaluate("double", [X], keep=n),
    "evaluate workers": lambda s, n: s.evaluate("double", [X], workers=n),
    "evaluate against": lambda s, n: s.evaluate("double", [X], against=n),
    "max_failed": lambda _, n: Requirements(max_failed=n).check({}),
    "options.log_verbose": lambda _, n: setattr(Options(), "log_verbose", n),
    "options.read_limit_bytes": lambda _, n: setattr(Options(), "read_limit_bytes", n),
    "trace rate": lambda _, n: RemoteTraceSettings("http://localhost").change(rate=n),
    "trace count": lambda _, n: RemoteTraceSettings("http://localhost").change(count=n),
    **{
        name: lambda s, n, name=name: s.infer("double", X, **{name: n})
        for name in OF_A_REQUEST
    },
    **{
        f"Server {name}": lambda _, n, name=name: Server(**{name: n})
        for name in OF_A_SERVER
    },
}


@pytest.fixture
def double(server):
    """Return a server with a model that doubles."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


@pytest.mark.parametrize("number", [True, 1.5])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_whole_number_is_neither_a_bool_nor_a_fraction(double, name, number):
    """The error has the value and says what is expected."""
    with pytest.raises(TypeError, match=rf"={number} is not valid; expected "):
        ARGUMENTS[name](double, number)


@pytest.mark.parametrize("number", [True, 1.5])
@pytest.mark.parametrize("counts", [lambda n: n, lambda n: {0: n}, lambda n: {n: 1}])
def test_a_number_of_units_is_whole(counts, number):
    """Also by device, and the number of the device."""
    with pytest.raises(ValueError, match=r"^rate_limit_resources.'R'.=.*an integer"):
        Server(rate_limit_resources={"R": counts(number)})


def test_the_row_of_a_comparison_is_whole(double):
    """As that of an evaluation."""
    found = double.evaluate("double", [X]).compare(double.evaluate("double", [X]))

    with pytest.raises(TypeError, match=r"^row=False is not valid"):
        found.differences(False)
    assert [] == found.differences(0)


@pytest.mark.parametrize("arrivals", ["poisson", [0.0, 0.01]])
def test_a_float_that_is_whole_is_a_number_of_requests(double, arrivals):
    """Like ``1e6``; seeds and levels, too."""
    load = {"requests": 2.0, "seed": 1.0, "rate": 100, "duration_s": 1}
    opened = double.bench("double", X, arrivals=arrivals, **load)
    closed = double.bench("double", X, concurrency=np.array([1.0]), requests=2.0)

    # An open loop does not measure its first requests.
    assert 1 <= opened.rows[0].requests <= 2 == closed.rows[0].requests
    assert "1 client>" in repr(closed)
