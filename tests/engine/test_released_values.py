"""Arrays of a model that failed are freed at once: one may fill a GPU."""

import asyncio
import gc

import numpy as np
import pytest
import stage
import tritonclient.http
import tritonclient.utils
from cells import CONFIG, calling, cell
from waiting import until

from blsnb.errors import InferenceError, ModelLoadError
from blsnb.inference_server import Server

X = {"X": np.ones(2, np.float32)}
LINES = """
array = np.zeros(1000)
stage.seen.append(weakref.ref(array))
raise ValueError("no")
"""
FAILS = f"import weakref\n{cell(LINES)}"
FAILS_ON_LOOP = f"import weakref\n{cell(LINES, asynchronous=True)}"
HEEDLESS = cell('ask("fails", request).exec()\nreturn [reply(x_of(request))]')
FAN_OUT = cell(
    """
    calls = [ask("fails", request).async_exec() for _ in range(2)]
    return [reply(answer_of(each)) for each in await asyncio.gather(*calls)]
    """,
    asynchronous=True,
)
READS = cell(
    """
    for each in ask("streams", request).exec(decoupled=True):
        answer_of(each)
    """
)
DECOUPLED = "model_transaction_policy { decoupled: true }"
BATCHED = "max_batch_size: 2 dynamic_batching { max_queue_delay_microseconds: 100 }"


@pytest.fixture
def failing():
    """A server with models that fail in all ways, and no garbage collection."""
    gc.disable()
    with Server() as server:
        server.define("fails", FAILS, config=CONFIG)
        server.define("fails_on_loop", FAILS_ON_LOOP, config=CONFIG)
        server.define("batched", FAILS, config=f"{CONFIG}{BATCHED}")
        server.define("streams", FAILS, config=f"{CONFIG}{DECOUPLED}")
        server.define("calls", calling("fails"), config=CONFIG)
        server.define("heedless", HEEDLESS, config=CONFIG)
        server.define("fans_out", FAN_OUT, config=CONFIG)
        server.define("reads", READS, config=CONFIG)
        yield server
    gc.enable()


def are_freed() -> bool:
    """Whether the arrays of all models that failed are freed, soon."""
    made = list(stage.seen)
    return bool(made) and until(lambda: all(ref() is None for ref in made), 5)


@pytest.mark.parametrize(
    "name", ["fails", "fails_on_loop", "calls", "heedless", "fans_out", "reads"]
)
def test_after_a_request_of_a_client_or_a_model(failing, name):
    """Nothing of it waits for a garbage collection."""
    try:
        failing.infer(name, X)
    except InferenceError:
        assert name != "heedless"

    assert are_freed()


def test_after_a_batch(failing):
    """The other requests of the batch keep nothing either."""
    with pytest.raises(InferenceError):
        failing.infer("batched", {"X": np.ones((1, 2), np.float32)})

    assert are_freed()


def test_after_a_stream(failing):
    """Its error is a response."""
    assert [True] == [each.error is not None for each in failing.stream("streams", X)]

    assert are_freed()


def test_after_a_request_on_an_event_loop(failing):
    """As in a cell with `await`."""

    async def work():
        with pytest.raises(InferenceError):
            await failing.async_infer("fails", X)
        return await asyncio.to_thread(are_freed)

    assert asyncio.run(work())


def test_after_a_request_over_http(failing):
    """A client of the network needs no exception."""
    with failing.serve(http=0, grpc=None, metrics=None) as endpoints:
        client = tritonclient.http.InferenceServerClient(endpoints.addresses["HTTP"])
        asked = tritonclient.http.InferInput("X", [2], "FP32")
        asked.set_data_from_numpy(X["X"])
        with client, pytest.raises(tritonclient.utils.InferenceServerException):
            client.infer("fails", [asked])

        assert are_freed()


def test_after_a_load(failing):
    """Weights that no longer fit are the usual reason."""
    source = FAILS.replace("def execute(self, requests)", "def initialize(self, args)")
    source = source.replace("request = requests[0]", "")
    with pytest.raises(ModelLoadError, match="ValueError: no"):
        failing.define("broken", source, config=CONFIG)

    assert are_freed()
