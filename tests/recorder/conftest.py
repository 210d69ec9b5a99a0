"""A real server with the recorder, for the tests of its recording."""

from __future__ import annotations

import queue

import numpy as np
import pytest
from conformance.reference import real_environment
from tritonclient.grpc import InferInput
from tritonclient.utils import InferenceServerException

import blsnb
from blsnb.parity.triton.environment import TritonEnv

from .production import (
    BATCHED,
    BODIES,
    install,
    own_environment,
    serving,
    source_of,
    write_ensemble,
    write_model,
    write_models,
)

WAIT_S = 60
BATCH_BODY = """\
    def execute(self, requests):
        value = np.concatenate([value_of(each) for each in requests])
        done = value_of(request("double", value.reshape(-1)).exec())
        done = done.reshape(value.shape)
        return [answer(done[n : n + 1]) for n in range(len(requests))]
"""


@pytest.fixture(scope="session")
def recorded_env(tmp_path_factory) -> TritonEnv:
    """The installed server, whose models have the recorder in their environment."""
    env = real_environment()
    own = own_environment(env, tmp_path_factory.mktemp("environment") / "env")
    install(own)
    return own


@pytest.fixture(scope="session")
def production(recorded_env, tmp_path_factory):
    """The folder of a server that has stopped, and what its clients received."""
    folder = tmp_path_factory.mktemp("production")
    repository = write_models(folder / "models")
    write_ensemble(repository)
    own_import = f"import c_python_backend_utils\n{source_of(BODIES['sync'])}"
    write_model(repository, "imports", own_import)
    write_model(repository, "batches", source_of(BATCH_BODY), BATCHED)
    received = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BLSNB_RECORD", str(folder / "recording"))
        with serving(recorded_env, repository, folder / "log") as running:
            for model in ("sync", "gathers", "streams", "threads", "both", "imports"):
                received[model] = running.infer(model, 3, id=f"id of {model}")
            for model in ("double", "sync"):
                with pytest.raises(InferenceServerException) as failed:
                    running.infer(model, -1)
                received[f"{model} fails"] = failed.value.message()
            received["late"] = decoupled(running, "late", [1, 2, 3])
            received["batches"] = _at_once(running, "batches", [1, 2, 3])
    log = (folder / "log").read_text()
    assert "blsnb recorder" not in log
    return folder, received


@pytest.fixture(scope="session")
def recorded(production):
    """The recording, and what the clients received."""
    folder, received = production
    return blsnb.load_recording(folder / "recording"), received


def decoupled(running, model, values):
    """Return the responses to requests that are open at the same time."""
    answers = queue.Queue()
    running.client.start_stream(lambda result, error: answers.put((result, error)))
    for number, value in enumerate(values):
        given = InferInput("X", [1], "FP32")
        given.set_data_from_numpy(np.array([value], np.float32))
        running.client.async_stream_infer(model, [given], request_id=str(number))
    found = [answers.get(timeout=WAIT_S) for _ in values]
    running.client.stop_stream()
    return {
        result.get_response().id: result.as_numpy("Y").tolist() for result, _ in found
    }


def _at_once(running, model, values):
    """Return the outputs of requests that are one batch, if they arrive in time."""
    answers = queue.Queue()
    for value in values:
        given = InferInput("X", [1, 1], "FP32")
        given.set_data_from_numpy(np.array([[value]], np.float32))
        running.client.async_infer(
            model, [given], lambda result, error: answers.put((result, error))
        )
    found = [answers.get(timeout=WAIT_S) for _ in values]
    return sorted(float(result.as_numpy("Y")[0, 0]) for result, _ in found)
