"""Copies of a server for other processes: what travels, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from whole_text import whole

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import EvaluationSettings
from blsnb.evaluation.work.places import Place
from blsnb.evaluation.work.portable import copy_server, needed_models
from blsnb.evaluation.work.processes import RowsInProcesses
from blsnb.evaluation.work.server_copy import ServerCopy
from blsnb.evaluation.work.tasks import pack, unpack
from blsnb.inference_server import Server
from blsnb.parts.requests import client_request
from blsnb.parts.server_parts import parts_of
from blsnb.runtimes.host import NumpyRuntime

from .places import DOUBLE

CALLER = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        x = pb_utils.get_input_tensor_by_name(requests[0], "X")
        request = pb_utils.InferenceRequest(
            model_name=TARGET, requested_output_names=["Y"], inputs=[x]
        )
        return [pb_utils.InferenceResponse(request.exec().output_tensors())]
"""
CONFIG = """
backend: "python"
input [ { name: "X" data_type: TYPE_INT64 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_INT64 dims: [ -1 ] } ]
"""


def define_caller(server: Server, target: str) -> None:
    """Define a model that calls another, whose name is an expression."""
    source = CALLER.replace("TARGET", target)
    server.define("caller", source, config=CONFIG)


def answer(copy: ServerCopy, folder: Path, name: str) -> list[int]:
    """Return the response of a model on a server that was opened from a copy."""
    parts = pickle.loads(pickle.dumps(copy)).open(folder)
    try:
        request = client_request(name, {"X": np.array([3, 1])}, {})
        found: list[int] = parts.requests.run(request)["Y"].tolist()
        return found
    finally:
        parts.lifetime.close()


def test_a_model_travels_with_those_that_it_calls(
    server: Server, tmp_path: Path
) -> None:
    """The copy has the called model and no other, and the same responses."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("other", DOUBLE, config=CONFIG)
    define_caller(server, '"double"')
    copy = copy_server(parts_of(server), "caller", tmp_path)
    assert ("caller", "double") == copy.models
    assert [6, 2] == answer(copy, tmp_path, "caller")


def test_all_models_travel_if_a_target_is_unknown(server: Server) -> None:
    """A call whose target is computed may reach any model."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("other", DOUBLE, config=CONFIG)
    define_caller(server, "requests[0].request_id()")
    assert ["caller", "double", "other"] == needed_models(parts_of(server), "caller")


def test_a_model_may_call_itself(server: Server) -> None:
    """Each model travels once."""
    define_caller(server, '"caller"')
    assert ["caller"] == needed_models(parts_of(server), "caller")


def test_an_override_travels_as_it_serves(server: Server, tmp_path: Path) -> None:
    """A configuration of a load call is part of the copy."""
    server.define("double", DOUBLE, config=CONFIG)
    server.load("double", config={"backend": "python", "max_batch_size": 4})
    copy = copy_server(parts_of(server), "double", tmp_path)
    opened = copy.open(tmp_path)
    try:
        assert 4 == opened.reports.config("double")["max_batch_size"]
    finally:
        opened.lifetime.close()


def test_settings_travel(tmp_path: Path) -> None:
    """The copy follows the same release, and has the same response cache."""
    with Server(triton_release="24.10", cache_bytes=1000) as server:
        server.define("double", DOUBLE, config=CONFIG)
        copy = copy_server(parts_of(server), "double", tmp_path)
    opened = copy.open(tmp_path)
    try:
        assert (24, 10) == opened.engine.release
        assert 1000 == opened.engine.settings.cache_bytes
    finally:
        opened.lifetime.close()


def test_a_stand_in_of_values_travels(server: Server, tmp_path: Path) -> None:
    """A stand-in that is described by plain values is made again."""
    server.define("double", DOUBLE, config=CONFIG)
    define_caller(server, '"double"')
    server.standin("double", zeros=True)
    copy = copy_server(parts_of(server), "caller", tmp_path)
    assert ("caller",) == copy.models
    assert [0, 0] == answer(copy, tmp_path, "caller")


BOUND = (
    "the models cannot run in other processes; evaluate without workers and executor, "
    "or change these:"
)


def test_a_function_as_stand_in_is_refused_by_name(
    server: Server, tmp_path: Path
) -> None:
    """The error names the model, and nothing is written."""
    server.define("double", DOUBLE, config=CONFIG)
    define_caller(server, '"double"')

    def halved(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"Y": inputs["X"] // 2}

    server.standin("double", call=halved)
    with pytest.raises(BlsnbError) as refused:
        copy_server(parts_of(server), "caller", tmp_path)
    assert [
        BOUND,
        "  double: a stand-in replaces it (call halved), which exists in this process "
        "only; write it as a model",
    ] == str(refused.value).splitlines()
    assert [] == list(tmp_path.iterdir())


def test_a_function_for_a_model_that_is_not_called_is_no_obstacle(
    server: Server, tmp_path: Path
) -> None:
    """Only models that requests may reach are considered."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("other", DOUBLE, config=CONFIG)
    server.standin("other", call=lambda inputs: inputs)
    assert ("double",) == copy_server(parts_of(server), "double", tmp_path).models


def test_files_that_changed_since_the_load_are_refused(
    tmp_path: Path,
) -> None:
    """Workers would load other code than the one that serves."""
    folder = tmp_path / "models/double/1"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(DOUBLE)
    with Server(model_repository=tmp_path / "models") as server:
        server.load("double")
        (folder / "model.py").write_text(f"{DOUBLE}\n# changed\n")
        text = "its files have changed since it was loaded; load it again"
        with pytest.raises(BlsnbError, match=whole(f"{BOUND}\n  double: {text}")):
            copy_server(parts_of(server), "double", tmp_path / "copy")


def test_a_runtime_of_the_user_is_refused(tmp_path: Path) -> None:
    """A runtime that is an object cannot be made again."""
    with Server(runtime=NumpyRuntime()) as server:
        server.define("double", DOUBLE, config=CONFIG)
        with pytest.raises(BlsnbError) as refused:
            copy_server(parts_of(server), "double", tmp_path)
    assert [
        BOUND,
        f"  runtime: {NumpyRuntime().describe()} is an object of this process; name a "
        "runtime, such as runtime='auto'",
    ] == str(refused.value).splitlines()


def test_the_digest_follows_the_files(server: Server, tmp_path: Path) -> None:
    """The same models have the same digest, a changed model another."""

    def digest(folder: str) -> str:
        return copy_server(parts_of(server), "double", tmp_path / folder).digest

    server.define("double", DOUBLE, config=CONFIG)
    first = digest("a")
    assert first == digest("b")
    server.define("double", f"{DOUBLE}\n# changed\n")
    assert first != digest("c")


def test_a_packed_folder_is_unpacked_into_a_new_one(tmp_path):
    """One without files, too: a server may have no models."""
    (tmp_path / "of/a/1").mkdir(parents=True)
    (tmp_path / "of/a/1/model.py").write_bytes(b"x = 1\n")
    (tmp_path / "empty").mkdir()

    unpack(pack(tmp_path / "of"), tmp_path / "copy")
    unpack(pack(tmp_path / "empty"), tmp_path / "none")

    assert b"x = 1\n" == (tmp_path / "copy/a/1/model.py").read_bytes()
    assert [] == list((tmp_path / "none").iterdir())
    with pytest.raises(FileExistsError):
        unpack(pack(tmp_path / "of"), tmp_path / "copy")


@pytest.mark.parametrize("count", [2.0, np.int64(2)])
def test_a_number_of_workers_may_be_a_whole_float(server: Server, count: int) -> None:
    """As every other number of an evaluation."""
    server.define("double", DOUBLE, config=CONFIG)
    place = Place(workers=count).open(parts_of(server), EvaluationSettings("double"))
    place.close()

    assert isinstance(place, RowsInProcesses)
    assert {} == place.workers
