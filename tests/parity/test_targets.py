"""A comparison loads the compared model and all models that it may call."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import stage
from tritonclient.grpc import service_pb2

from blsnb.engine.settings import Settings
from blsnb.errors import TritonServerError
from blsnb.parity import targets
from blsnb.parity.packages import pip_command
from blsnb.parity.targets import needed_models, texts_in
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import ServerDiedError

TEXTS = {
    "outer": "InferenceRequest(model_name='inner')",
    "inner": 'call("leaf")',
    "leaf": "# outer",
    "steps": 'step { model_name: "leaf" }',
    "other": "'inner'",
}


def test_a_quoted_model_name_is_a_possible_call():
    """The calls of the called model count, too."""
    assert ["inner", "leaf", "outer"] == needed_models(["outer"], TEXTS)
    assert ["leaf", "steps"] == needed_models(["steps"], TEXTS)


def test_called_models_are_needed_even_if_no_text_names_them():
    """Unknown names are ignored."""
    assert ["leaf"] == needed_models(["leaf", "gone"], TEXTS)
    assert ["inner", "leaf", "other"] == needed_models(["other"], TEXTS)


def test_models_may_name_each_other_and_themselves():
    """The search visits each model once."""
    assert ["a", "b"] == needed_models(["a"], {"a": "'b'", "b": "'a' 'b'"})


def test_only_small_text_files_are_searched(tmp_path):
    """Sources and configurations are read in every folder; weights are not."""
    largest = "9".zfill(1 << 20)
    contents = {
        "1/model.py": "1",
        "1/weights.bin": "2",
        "config.pbtxt": "3",
        "a.json": "4",
        "b.txt": "5",
        "c.toml": "6",
        "d.yaml": "7",
        "e.yml": b"8\xff",
        "f.txt": largest,
        "g.txt": f"0{largest}",
    }
    (tmp_path / "1").mkdir()
    (tmp_path / "folder.txt").mkdir()
    for name, text in contents.items():
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)

    assert f"1 4 5 6 3 7 8\ufffd {largest}".split() == texts_in(tmp_path).split()


ENV = TritonEnv("/triton/bin/tritonserver", "", "/py", "/lib/libpython3.8.so", "a 1")
SETTINGS = Settings((24, 10), strict_model_config=True)


class FakeServer:
    """A server without a process."""

    pid = 7

    def __init__(self, *arguments, **options):
        stage.seen.append((*arguments, options))
        self.stub = self
        self.close = lambda: stage.seen.append("closed")
        self.kill = lambda: stage.seen.append("killed")
        self.log_end = lambda: "the end of the log"

    def RepositoryIndex(self, request, timeout):
        """Return the models, one of which has failed."""
        failed = service_pb2.RepositoryIndexResponse.ModelIndex
        rows = [failed(name=name, state=state, reason=reason) for name, state, reason in
                stage.values["index"]]  # fmt: skip
        return service_pb2.RepositoryIndexResponse(models=rows)


@pytest.fixture
def local(tmp_path, monkeypatch):
    """Return a function that makes a target whose server is a fake."""

    def export(folder):
        for name, text in TEXTS.items():
            (folder / name).mkdir(parents=True)
            (folder / name / "config.pbtxt").write_text(text)
        notes = ["outer: a note", "other: not needed"]
        return SimpleNamespace(models=list(TEXTS), notes=notes)

    monkeypatch.setattr(targets, "find", lambda folder: ENV)
    monkeypatch.setattr(targets, "TritonServer", FakeServer)
    client = SimpleNamespace(
        settings=SETTINGS, ready=lambda: {"outer", "inner", "other"}, export=export
    )
    stage.values["index"] = []
    common = {"may_install": False, "timeout_s": 5, "report": stage.seen.append}
    return lambda **options: targets.Local(client, tmp_path, **common | options)


def test_a_started_server_loads_the_models_that_are_ready_here(local, tmp_path):
    """Each step is reported, and the notes are those of its models."""
    stage.values["index"] = [("inner", "UNAVAILABLE", "broken")]
    target = local()
    assert (None, ()) == (target.pid, target.traces())
    with target.serving("outer", ["gone"]):
        stage.seen.append("served")

    arguments = [
        "--load-model=inner",
        "--load-model=outer",
        "--exit-on-error=false",
        "--strict-readiness=false",
        *SETTINGS.arguments(),
        "--trace-config=mode=triton",
        "--trace-config=rate=1",
        "--trace-config=level=TIMESTAMPS",
        "--trace-config=level=TENSORS",
        f"--trace-config=triton,file={tmp_path / 'trace.json'}",
        "--trace-config=triton,log-frequency=1",
    ]
    repository = tmp_path / "repository"
    assert [
        "export the models",
        "start the real server with inner, outer",
        (ENV, repository, tmp_path / "log", arguments, {"ready_s": 5}),
        "served",
        "stop the real server",
        "closed",
    ] == stage.seen
    assert (7, (repository,)) == (target.pid, target.folders())
    assert [
        "outer: a note",
        "inner does not load on the real server: broken",
        "models ran on Python 3.8 on the real server, and on Python "
        f"{sys.version_info.major}.{sys.version_info.minor} here",
    ] == target.notes


def test_a_server_without_traces_may_serve_another_repository(local, tmp_path):
    """Also one in which no model is needed."""
    target = local(prepare=lambda *given: given, tracing=False)
    with target.serving("gone", []):
        pass

    assert "start the real server with no model" == stage.seen[1]
    _, repository, _, arguments, _ = stage.seen[2]
    assert (tmp_path / "repository", []) == repository
    assert not [each for each in arguments if "trace" in each or "load" in each]


@pytest.mark.parametrize(
    ("reason", "told", "advice"),
    [
        ("", "it gives no reason", ""),
        ("boom", "boom", ""),
        (
            "No module named 'x'",
            "No module named 'x'",
            "The real server has a Python environment of its own. Put your own module "
            "beside model.py (%%triton_model ... --file PATH); add a package with\n"
            f"    {pip_command(ENV, ['PACKAGE'])}",
        ),
    ],
)
def test_a_compared_model_that_does_not_load_is_an_error(local, reason, told, advice):
    """The server is killed; a missing module is explained."""
    stage.values["index"] = [("outer", "UNAVAILABLE", reason)]
    with pytest.raises(TritonServerError) as error, local().serving("outer", []):
        pass

    assert (
        f"model 'outer' does not load on the real server: {told}",
        advice,
        "killed",
    ) == (error.value.message, error.value.advice, stage.seen[-1])


def test_a_server_that_ends_while_it_serves_has_its_log(local):
    """It is killed, in case only its port was closed."""
    with pytest.raises(ServerDiedError) as error, local().serving("outer", []):
        raise ServerDiedError("ended")

    assert ("the end of the log", "killed") == (error.value.log, stage.seen[-1])
