"""A plan from the statistics of a server that runs already."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from types import SimpleNamespace

import pytest
from cells import CONFIG
from conformance.reference import real_environment
from whole_text import whole

from blsnb import Server
from blsnb.errors import BlsnbError, TritonServerError
from blsnb.parity.triton.executed import Executed
from blsnb.parity.triton.server_process import TritonServer
from blsnb.planning.calibration import TRITON
from blsnb.planning.observations import Observed
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.triton.running_world import _model

from .configs import MS, computes, config, ensemble, tensors, waits
from .plans.test_check import ALONE, CALLER

X = {"X": [[1.0]]}
TENSORS = CONFIG.replace("-1", "1")
BATCHING = f"{TENSORS} max_batch_size: 4 dynamic_batching {{ }}"
PLAN = {"rate": 10, "p99_ms": 1e5, "requests": 10, "duration_s": 0.5}
SLOW = ALONE.replace("class Triton", "import time\n\n\nclass Triton").replace(
    "        inputs =", "        time.sleep(0.02)\n        inputs ="
)
"""A model as another server may have it: its executions take 20 ms longer."""


def define(server: Server, source: str = ALONE, batching: str = BATCHING) -> Server:
    """Define a model that batches, and its caller."""
    server.define("double", source, config=batching)
    server.define("caller", CALLER, config=f"{TENSORS} max_batch_size: 4")
    return server


@contextmanager
def elsewhere(*given: str):
    """Serve other models under the same names."""
    with Server() as other:
        define(other, *given)
        with other.serve(http=None, grpc=0, metrics=None) as endpoints:
            yield f"grpc://{endpoints.addresses['gRPC']}"


@pytest.mark.slow
def test_the_times_are_those_that_the_server_counts(server):
    """What is called is known from here, and so is that it takes no time there."""
    define(server)
    with elsewhere(SLOW) as url:
        plan = server.plan("caller", X, server_url=url, **PLAN)
    double, caller = (plan.calibration.models[name] for name in ("double", "caller"))

    assert TRITON == plan.calibration.world
    assert double.mean_ns(1) > 19 * MS > caller.mean_ns(1)
    assert double.sizes[-1] > 1
    assert ["double", ""] == [step.model for step in caller.by_size[1][0].steps]
    assert 0 == plan.best.judgement.cores_use
    assert "processors limit nothing in the plan" in str(plan)
    assert f"The statistics of the server at {url} have means only" in str(plan)
    text = (
        f"a check does not change the models of the server at {url}. Write the "
        "configuration with plan.export(), load it there, and plan again"
    )
    with pytest.raises(BlsnbError, match=whole(text)):
        plan.check()


@pytest.mark.slow
def test_requests_of_other_clients_are_named(server):
    """A server that runs already may have them."""
    define(server)
    ended = Event()
    with Server() as other, ThreadPoolExecutor(1) as client:
        define(other, SLOW)
        with other.serve(http=None, grpc=0, metrics=None) as endpoints:
            url = f"grpc://{endpoints.addresses['gRPC']}"
            sent = client.submit(send_until, other, ended)
            try:
                plan = server.plan("caller", X, server_url=url, **PLAN)
            finally:
                ended.set()
            sent.result(60)

    assert re.search(
        r"\nOther clients sent \d+ requests to caller during the observation: the "
        r"times have their load, too\.$",
        str(plan),
        re.M,
    )


def send_until(server: Server, ended: Event) -> None:
    """Send requests one after the other."""
    while not ended.is_set():
        server.infer("caller", X)


def test_a_server_without_a_called_model_is_refused(server):
    """The text names the model, the address and what to do."""
    define(server)
    with Server() as other:
        other.define("caller", CALLER, config=f"{TENSORS} max_batch_size: 4")
        with other.serve(http=None, grpc=0, metrics=None) as endpoints:
            url = f"grpc://{endpoints.addresses['gRPC']}"
            text = (
                "model 'double', which the request reaches here, is not ready at "
                f"{url}\n\nLoad it there first."
            )
            with pytest.raises(TritonServerError, match=whole(text)):
                server.plan("caller", X, server_url=url, **PLAN)


@pytest.mark.parametrize(
    ("there", "field"),
    [
        (BATCHING.replace("4", "8"), "max_batch_size"),
        (f"{BATCHING} instance_group {{ count: 2 }}", "instance_group"),
        (
            BATCHING.replace("{ }", "{ max_queue_delay_microseconds: 5 }"),
            "dynamic_batching",
        ),
    ],
)
def test_a_server_with_another_configuration_is_refused(server, there, field):
    """A plan starts from the configuration that was observed."""
    define(server)
    with (
        elsewhere(ALONE, there) as url,
        pytest.raises(TritonServerError) as refused,
    ):
        server.plan("caller", X, server_url=url, **PLAN)
    assert (
        f"model 'double' has another {field} at {url} than here\n\nA plan starts from "
        "the configuration that was observed: give the model the same one here."
    ) == str(refused.value)


RECORDED = SimpleNamespace(unattributed=())
"""Looks like a recording."""


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"server_url": "localhost:8001"}, ValueError, "'grpc://localhost:8001'"),
        ({"server_url": 5}, TypeError, "server_url=5"),
        (
            {
                "server_url": "grpc://localhost:1",
                "recording": SimpleNamespace(unattributed=()),
            },
            ValueError,
            "exclude each other",
        ),
        (
            {"server_url": "grpc://127.0.0.1:9"},
            TritonServerError,
            "127.0.0.1:9 does not respond",
        ),
    ],
)
def test_invalid_addresses_are_refused(server, given, error, text):
    """They say what was expected."""
    define(server)

    with pytest.raises(error, match=text):
        server.plan("double", X, **PLAN, **given)


def test_batch_sizes_have_the_means_of_the_server():
    """Executions differ by as much time as they did here."""
    seen = Observed([computes(1), computes(3)], [], [])
    found = _model(config("m"), seen, {2: Executed(4, 40 * MS)})

    assert [2] == found.sizes
    assert [9 * MS, 11 * MS] == [each.own_ns for each in found.by_size[2]]
    assert [0, 0] == [each.computing_ns for each in found.by_size[2]]


CALLING = Behaviour(1, (Step((), 0, MS, "a"), Step((0,), 0, MS)))
XY = tensors(input="X", output="Y")


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        (config("m"), CALLING),
        (ensemble("m", {"a": ("X", "Y")}, XY).config, waits(2)),
    ],
    ids=["caller", "ensemble"],
)
def test_what_calls_other_models_is_as_it_was_here(found, seen):
    """The server counts the time of its calls as its own."""
    counted = {1: Executed(4, 40 * MS)}

    assert {1: [seen]} == _model(found, Observed([seen], [], []), counted).by_size


def test_a_model_that_the_server_has_not_counted_is_as_it_was_here():
    """It may be called by some requests only."""
    found = _model(config("m"), Observed([waits(2)], [], []), {})

    assert {1: [waits(2)]} == found.by_size


@pytest.mark.slow
@pytest.mark.triton_server
@pytest.mark.timeout(300)
def test_a_real_server_that_runs_already_is_observed(server, tmp_path):
    """Its model waits for 20 ms, and the one here does not."""
    define(server, SLOW)
    server.export_repository(tmp_path / "models")
    define(server)
    loaded = [f"--load-model={name}" for name in ("double", "caller")]
    env = real_environment()
    real = TritonServer(env, tmp_path / "models", tmp_path / "log", loaded)
    url = f"grpc://127.0.0.1:{real.grpc_port}"
    try:
        plan = server.plan("caller", X, server_url=url, **PLAN)
    finally:
        real.close()
    double, caller = (plan.calibration.models[name] for name in ("double", "caller"))

    assert double.mean_ns(1) > 19 * MS > caller.mean_ns(1)
    assert double.sizes[-1] > 1
    assert plan.best.judgement.p50_us > 19_000
