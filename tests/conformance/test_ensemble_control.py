"""Ensembles that are loaded, and models of theirs that come, go and change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from model.ensembles import IO, ensemble, model, outs, step
from tritonclient.grpc import service_pb2 as pb
from waiting import until

from blsnb import InferenceError, ModelLoadError

from .covering import rows
from .elsewhere import CALL_S, elsewhere, make_newest, remove

SOURCE = """
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]
    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        y = pb_utils.Tensor("Y", x + np.float32({}))
        return pb_utils.InferenceResponse([y])
"""
BOTH = ensemble(step("a", made="Y=M"), step("b", "X=M"))
ONLY_B = ensemble(step("b"))
AROUND = ensemble(step("e", made="Y=M"), step("b", "X=M"))


class Stage:
    """A server of one case, its folder, and the observations so far."""

    def __init__(self, server: Any, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._ours = not hasattr(server._server, "stub")
        self.seen: list[Any] = []

    def put(self, name: str, number: int, source: str = SOURCE) -> None:
        """Write a model that adds a number, or write it anew."""
        file = self._file(name, "1/model.py")
        # Python takes a compiled file of the same second and length for this one's.
        file.write_text(source.format(number) + "#" * number)
        self._file(name, "config.pbtxt").write_text(model(IO))
        make_newest(file)

    def compose(self, name: str, config: str) -> None:
        """Write an ensemble, or write it anew."""
        self._file(name, "1/none").parent.mkdir(exist_ok=True)
        file = self._file(name, "config.pbtxt")
        file.write_text(config)
        make_newest(file)

    def _file(self, name: str, path: str) -> Path:
        file = self._folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def load(
        self,
        name: str,
        config: dict[str, Any] | None = None,
        files: dict[str, bytes] | None = None,
    ) -> None:
        """Load a model; return the result and the states of all models."""
        answer = self._load(name, config, files)
        self.seen.append([f"load {name}", answer, *self._after()])

    def _load(
        self,
        name: str,
        config: dict[str, Any] | None,
        files: dict[str, bytes] | None,
    ) -> Any:
        if config is None:
            return self._server.load(name)
        if self._ours:
            try:
                self._server._server.load(name, config=config, files=files)
            except ModelLoadError as error:
                return self._server._failure(error)
            return None
        request = pb.RepositoryModelLoadRequest(model_name=name)
        request.parameters["config"].string_param = json.dumps(config)
        for path, content in (files or {}).items():
            request.parameters[path].bytes_param = content
        return self._server._ask(self._server._server.stub.RepositoryModelLoad, request)

    def unload(self, name: str, dependents: bool = False) -> None:
        """Unload a model; return the states of all models."""
        if self._ours:
            self._server._server.unload(name, unload_dependents=dependents)
        else:
            request = pb.RepositoryModelUnloadRequest(model_name=name)
            request.parameters["unload_dependents"].bool_param = dependents
            self._server._server.stub.RepositoryModelUnload(request, timeout=CALL_S)
        self.seen.append([f"unload {name}", *self._after()])

    def _after(self) -> list[Any]:
        """Return the index, and the output of each ready model."""
        until(lambda: "LOADING" not in str(self._server.index()))
        index = self._server.index()
        names = sorted({row["name"] for row in index})
        return [index, {name: self._ask(name) for name in names}]

    def _ask(self, name: str) -> Any:
        x = np.zeros(1, np.float32)
        try:
            if self._ours:
                return self._server._server.infer(name, {"X": x})["Y"].tolist()
            request = pb.ModelInferRequest(model_name=name)
            request.inputs.add(name="X", datatype="FP32", shape=[1])
            request.raw_input_contents.append(x.tobytes())
            answer = self._server._server.stub.ModelInfer(request, timeout=CALL_S)
            return np.frombuffer(answer.raw_output_contents[0], np.float32).tolist()
        except (InferenceError, grpc.RpcError) as error:
            return self._server._failure(error)


@pytest.fixture
def played(tmp_path_factory):
    """Return a function that runs a case on a server of its own."""

    def play(target, case):
        folder = tmp_path_factory.mktemp("ensembles")
        with elsewhere(target, folder, completes=True) as server:
            stage = Stage(server, folder / "models")
            stage.put("a", 1)
            stage.put("b", 10)
            stage.compose("e", BOTH)
            case(stage)
        return stage.seen

    return play


@pytest.mark.slow
@rows(
    "r1.4/load-of-ensemble",
    "r1.4/unload-of-a-composing-model",
    "r1.4/unload-ensemble",
)
def test_an_ensemble_comes_and_goes_with_its_models(agree, played):
    """Nested ensembles do, too, unless the ensemble was unloaded by name."""

    def case(stage):
        stage.compose("outer", AROUND)
        stage.load("outer")
        stage.unload("a")
        stage.load("a")
        stage.unload("a")
        stage.load("outer")
        stage.unload("e")
        stage.load("e")
        stage.unload("outer")
        stage.unload("e")
        stage.unload("a")
        stage.load("a")
        stage.load("outer")

    agree(lambda target: played(target, case))


@pytest.mark.slow
@rows("r1.4/unload-ensemble-with-parameters-unload_dependents-true")
def test_models_that_nobody_asked_for_go_with_it(agree, played):
    """An option requests it; models of another ensemble stay."""

    def case(stage):
        stage.compose("other", ONLY_B)
        stage.compose("outer", AROUND)
        stage.load("e")
        stage.unload("e", dependents=True)
        stage.load("e")
        stage.load("a")
        stage.unload("e", dependents=True)
        stage.load("e")
        stage.load("other")
        stage.unload("e", dependents=True)
        stage.unload("other", dependents=True)
        stage.load("outer")
        stage.unload("outer", dependents=True)
        stage.load("a")
        stage.load("e")
        stage.unload("e", dependents=True)
        stage.put("a", 2)
        stage.load("e")
        stage.unload("e", dependents=True)
        stage.load("e")
        stage.put("b", 20)
        stage.load("b")
        stage.unload("e", dependents=True)

    agree(lambda target: played(target, case))


@pytest.mark.slow
def test_a_load_looks_at_all_that_an_ensemble_is_made_of(agree, played):
    """Changed composing models are reloaded, even if the ensemble has not changed."""

    def case(stage):
        stage.load("e")
        stage.put("a", 2)
        stage.load("e")
        stage.compose("outer", AROUND)
        stage.load("outer")
        stage.put("a", 3)
        stage.put("b", 20)
        stage.load("outer")
        stage.compose("e", ONLY_B)
        stage.load("b")
        stage.unload("b")
        stage.load("b")
        stage.load("outer")
        remove(stage._folder / "b")
        stage.load("b")
        stage.load("e")

    agree(lambda target: played(target, case))


OVERRIDE = {
    "platform": "ensemble",
    "input": [{"name": "X", "data_type": "TYPE_FP32", "dims": [-1]}],
    "output": [{"name": "Y", "data_type": "TYPE_FP32", "dims": [-1]}],
    "ensemble_scheduling": {
        "step": [
            {
                "model_name": "b",
                "model_version": -1,
                "input_map": {"X": "X"},
                "output_map": {"Y": "Y"},
            }
        ]
    },
}


@pytest.mark.slow
def test_an_override_outlives_the_models_of_its_ensemble(agree, played):
    """It lasts until the ensemble is unloaded or a file of its folder is newer."""

    def case(stage):
        stage.load("e")
        stage.load("e", OVERRIDE)
        stage.put("b", 20)
        stage.load("b")
        stage.unload("b")
        stage.load("b")
        stage.load("e")
        stage.unload("e")
        stage.load("e")
        stage.load("e", OVERRIDE)
        stage.compose("e", BOTH)
        stage.load("e")

    agree(lambda target: played(target, case))


FOLDER = {"file:1/none": b"", "file:about.txt": b"about"}


@pytest.mark.slow
def test_given_files_outlive_the_models_of_their_ensemble(agree, played):
    """It is loaded again with its model, though its files came with the load."""

    def case(stage):
        stage.load("e", OVERRIDE, FOLDER)
        stage.unload("b")
        stage.load("b")
        stage.put("b", 20)
        stage.load("b")
        stage.load("e")
        stage.unload("e")
        stage.load("b")
        stage.load("given", OVERRIDE, FOLDER)
        stage.unload("b")
        stage.load("b")
        stage.put("a", 2)
        stage.load("given")
        stage.unload("given")
        stage.load("b", {**fitting("INT32"), "name": "b"})
        stage.load("given", OVERRIDE, FOLDER)
        stage.load("b", {**fitting(), "name": "b"})

    agree(lambda target: played(target, case))


def fitting(data_type="FP32"):
    """Return the configuration of `a`, which may not fit."""
    x, y = OVERRIDE["input"][0], OVERRIDE["output"][0]
    inputs = [{**x, "data_type": f"TYPE_{data_type}"}]
    return {"name": "a", "backend": "python", "input": inputs, "output": [y]}


@rows("r1.4/reload-of-a-composing-model")
def test_a_model_that_does_not_fit_takes_its_ensemble_down(agree, played):
    """The ensemble returns when a model fits; a failed load has no effect."""

    def case(stage):
        stage.load("e")
        stage.load("a", fitting("INT32"))
        stage.load("e")
        stage.load("a", fitting())
        stage.put("a", 1, "1 / 0")
        stage.load("a")
        stage.compose("e", BOTH)
        stage.load("e")
        stage.put("a", 5)
        stage.load("a")

    agree(lambda target: played(target, case))


BROKEN = {
    "a model is missing": ensemble(step("a", made="Y=M"), step("nosuch", "X=M")),
    "it does not fit": ensemble(step("a", made="Q=M"), step("b", "X=M")),
    "it cannot be made": ensemble(
        step("a"), io="input { name: 'X' data_type: TYPE_FP32 dims: 0 }" + outs()
    ),
    "it cannot be read": ensemble(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_an_ensemble_that_is_broken(agree, played, name):
    """It is unloaded if its models are the cause, else the old one serves."""

    def case(stage):
        stage.load("e")
        stage.compose("e", BROKEN[name])
        stage.load("e")
        stage.put("a", 2)
        stage.load("a")
        stage.compose("e", BOTH)
        stage.load("e")

    agree(lambda target: played(target, case))
