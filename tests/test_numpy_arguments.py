"""NumPy's numbers, such as a loop over an array gives, are arguments like Python's."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

import blsnb
from blsnb import Server

X = {"X": [1, 2]}
ONE = np.int64(1)


@pytest.fixture
def double(server: Server) -> Server:
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("version", ONE),
        ("outputs", np.array(["Y"])),
        ("correlation_id", np.uint64(7)),
        ("priority", ONE),
        ("timeout_us", np.int32(5_000_000)),
        ("client_timeout_s", np.float32(5)),
        ("client_timeout_s", np.array(5)),
        ("sequence_start", np.bool_(True)),
    ],
)
@pytest.mark.parametrize("method", ["infer", "stream", "async_infer"])
def test_options_of_a_request(double, method, option, value):
    """The request is accepted as with Python's number."""
    given = {"correlation_id": 7, option: value}

    async def sent():
        found = getattr(double, method)("double", X, **given)
        return await found if method == "async_infer" else found

    asyncio.run(sent())


def test_parameters_of_a_request(double):
    """The model and the trace have Python's values."""
    given = {"whole": ONE, "share": np.float32(0.5), "yes": np.bool_(True)}

    run = double.infer("double", X, parameters=given)

    parameters = dict(run.trace.spans[0].request_fields.parameters)
    assert {"whole": 1, "share": 0.5, "yes": True} == parameters
    assert {int, float, bool} == {*map(type, parameters.values())}


def test_levels_of_a_benchmark(double):
    """An array of levels is a list of them, and a single level needs no list."""
    closed = double.bench("double", X, concurrency=np.arange(1, 3), requests=2)
    single = double.bench("double", X, concurrency=ONE, requests=2)
    opened = double.bench("double", X, rate=np.float64(50), duration_s=0.1)

    assert [1, 2] == [row.concurrency for row in closed.rows]
    assert [1] == [row.concurrency for row in single.rows]
    assert [50] == [row.rate for row in opened.rows]


@pytest.mark.timeout(180)  # A plan measures the model.
def test_choices_of_a_plan(double):
    """Arrays of numbers of instances are compared like lists."""
    compared = {"double": np.array([1, 2])}
    load = {"rate": np.array([20, 30]), "p99_ms": 100, "duration_s": 0.5}

    plan = double.plan("double", X, instances=compared, requests=20, **load)

    counts = {row.option.settings["double"].instances for row in plan.judged}
    assert {1, 2} == counts
    assert {int} == {*map(type, counts)}


CALLS = {
    "define": lambda s: s.define("m", DOUBLE, config=CONFIG, version=ONE),
    "statistics": lambda s: s.statistics("double", version=ONE),
    "batching": lambda s: s.batching("double", version=ONE),
    "config": lambda s: s.config("double", version=ONE),
    "evaluate": lambda s: s.evaluate("double", [X], against=ONE),
    "standin": lambda s: s.standin("double", random=ONE),
    "serve": lambda s: s.serve(http=np.int64(0), grpc=None, metrics=None).close(),
    "resources": lambda _: Server(rate_limit_resources={"R": ONE}).close(),
    "resources of a device": lambda _: Server(
        rate_limit_resources={"R": {np.int32(0): ONE}}
    ).close(),
    "placement": lambda _: Server(hostile_placement=ONE, runtime="simulated").close(),
    "level": lambda _: Server(log_verbose=1.0).close(),
    "Server": lambda _: Server(log_verbose=ONE, otlp_rate=ONE, otlp_count=ONE).close(),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_a_server(double, name):
    """No method asks for Python's own number."""
    CALLS[name](double)


@pytest.mark.parametrize("limit", [4e9, np.int64(2**32), np.float64(4e9)], ids=repr)
def test_limits_in_bytes(double, tmp_path, limit):
    """``4e9`` is how people write four gigabytes."""
    run = double.infer("double", X)
    run.save(tmp_path / "run.blsrun", budget_bytes=limit)

    again = blsnb.load_run(tmp_path / "run.blsrun", limit_bytes=limit)

    assert run.outputs["Y"].tolist() == again.outputs["Y"].tolist()


@pytest.mark.parametrize("limit", [float("inf"), float("nan"), 1.5, True, "1"])
def test_what_is_no_number_of_bytes(tmp_path, limit):
    """The error has the value, and what was expected."""
    with pytest.raises(TypeError, match=r"^limit_bytes=.+; expected a number, or None"):
        blsnb.load_run(tmp_path / "run.blsrun", limit_bytes=limit)
