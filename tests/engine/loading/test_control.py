"""Loading and unloading by name: overrides, what is new, and who may ask."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, OWN_THREAD, cell, touch

from blsnb import (
    InferenceError,
    ModelLoadError,
    RepositoryError,
    Server,
    WouldHang,
)
from blsnb.model.config import parse_pbtxt
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.metadata import server_is_ready

X = {"X": np.array([1, 2], np.float32)}
NAMED = {
    "input": [{"name": "X", "data_type": "TYPE_FP32", "dims": [2]}],
    "output": [{"name": "Y", "data_type": "TYPE_FP32", "dims": [2]}],
    "backend": "python",
}
JSON = json.dumps(NAMED)
TRIPLE = {"file:1/model.py": cell("return [reply(x_of(request) * 3)]")}
LIFE = """
def initialize(self, args):
    stage.seen.append("initialize")

def finalize(self):
    stage.seen.append("finalize")

"""


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """The folder of temporary files, empty."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def double(server: Server) -> Server:
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


def dims(server: Server, name: str = "double") -> list[int]:
    """Return the dims of the serving model: the folder says -1, the override 2."""
    return server.config(name)["input"][0]["dims"]


def test_a_model_is_unloading_until_finalize_has_ended(server):
    """Its index and the readiness of the server are Triton's."""
    hook = """
def finalize(self):
    stage.seen.append(stage.values["state"]())

"""
    engine = parts_of(server).engine

    def state():
        states = engine.catalog.current_states("m")
        return states[1].state, server_is_ready(engine.catalog)

    stage.values["state"] = state
    server.define("m", cell("return []", methods=hook))
    server.unload("m")

    assert [("UNLOADING", False)] == stage.seen
    assert ("UNAVAILABLE", True) == state()


def test_an_unchanged_model_is_not_loaded_again(server):
    """It is loaded if it does not serve or its folder is newer."""
    server.define("m", cell("return [reply(x_of(request))]", methods=LIFE))
    server.load("m")
    assert ["initialize"] == stage.seen

    touch(server, "m")
    server.load("m")
    assert ["initialize", "initialize", "finalize"] == stage.seen

    server.unload("m")
    server.load("m")
    assert ["finalize", "initialize"] == stage.seen[3:]


def test_a_definition_always_loads(server):
    """It loads even if nothing changed."""
    source = cell("return [reply(x_of(request))]", methods=LIFE)
    server.define("m", source)
    server.define("m", source)

    assert ["initialize", "initialize", "finalize"] == stage.seen


def test_a_load_that_failed_is_tried_again(server, tmp_path):
    """The files are the same."""
    source = 'import stage\nstage.seen.append("imported")\n1 / 0\n'
    folder = parts_of(server).repository.private_root / "m" / "1"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(source)

    for _ in range(2):
        with pytest.raises(ModelLoadError, match="ZeroDivisionError"):
            server.load("m")
    assert ["imported", "imported"] == stage.seen


@pytest.mark.parametrize(
    "config",
    [JSON, NAMED, parse_pbtxt(CONFIG.replace("-1", "2"))],
    ids=["text", "dict", "configuration"],
)
def test_an_override_replaces_the_configuration_of_the_file(double, config):
    """Nothing is merged, and the file does not change."""
    written = parts_of(double).repository.directory("double").config_file.read_text()
    double.load("double", config=config)

    assert [2] == dims(double)
    assert (
        written
        == parts_of(double).repository.directory("double").config_file.read_text()
    )


@pytest.mark.parametrize("content", ["\ud83d", Path("missing"), Path("/"), Path("a\0")])
def test_a_file_without_bytes_is_refused(double, content):
    """The model serves as before."""
    with pytest.raises(RepositoryError, match=r"half of a surrogate|cannot be read"):
        double.load("double", config=NAMED, files={"file:1/model.py": content})

    assert [-1] == dims(double)


@pytest.mark.parametrize("key", ["\ud83d", "ä", 5, None])
def test_a_key_of_an_override_is_a_name(double, key):
    """Of no field, whatever its characters."""
    for config in ({key: 1}, json.dumps({key: 1})):
        with pytest.raises(ModelLoadError, match="Cannot find field"):
            double.load("double", config=config)


def test_an_override_lasts(double):
    """It survives plain loads until a file becomes newer."""
    double.load("double", config=JSON)
    double.load("double")
    assert [2] == dims(double)

    touch(double, "double")
    double.load("double")
    assert [-1] == dims(double)


@pytest.mark.parametrize("end", ["unload", "define"])
def test_an_override_ends(double, end):
    """It ends when the model is unloaded or redefined."""
    double.load("double", config=JSON)
    if end == "unload":
        double.unload("double")
        double.load("double")
    else:
        double.define("double", DOUBLE)

    assert [-1] == dims(double)


def test_an_override_that_fails_changes_nothing(double, temporary):
    """The model serves as before, and no folder remains."""
    double.load("double", config=JSON)
    other = NAMED | {"metric_tags": {"a": "b"}}
    with pytest.raises(ModelLoadError, match="ZeroDivisionError"):
        double.load("double", config=other, files={"file:1/model.py": "1 / 0"})

    assert [2] == dims(double)
    assert [2, 4] == double.infer("double", X)["Y"].tolist()
    assert [] == list(temporary.iterdir())


def test_files_replace_the_folder(double, temporary, tmp_path):
    """They are in a temporary folder that is removed with the model."""
    weights = tmp_path / "weights"
    weights.write_bytes(b"\0\1")
    files = TRIPLE | {"file:1/sub/weights": weights, "file:labels.txt": b"\xff"}
    double.load("double", config=NAMED, files=files)

    assert [3, 6] == double.infer("double", X)["Y"].tolist()
    (folder,) = temporary.iterdir()
    assert folder.name.startswith("folder")
    assert b"\0\1" == (folder / "1" / "sub" / "weights").read_bytes()
    assert b"\xff" == (folder / "labels.txt").read_bytes()
    double.unload("double")
    assert [] == list(temporary.iterdir())


def test_files_need_no_folder(server, temporary):
    """The model serves and has statistics, but is not in the repository."""
    status = server.load("given", config=NAMED, files=TRIPLE)

    assert ("READY", (1,)) == (status.state, status.versions)
    assert [3, 6] == server.infer("given", X)["Y"].tolist()
    assert [] == server.index()
    (row,) = server.statistics()["model_stats"]
    assert ("given", 1) == (row["name"], row["inference_count"])
    with pytest.raises(ModelLoadError, match="model not found in any"):
        server.load("given")
    assert [3, 6] == server.infer("given", X)["Y"].tolist()


def test_a_model_in_its_own_files_knows_where_it_is(server, temporary):
    """The version's folder, the model's folder and its file are the temporary ones."""
    source = cell(
        """
        stage.seen.extend([pb_utils.get_model_dir(), self.repository, __file__])
        return [reply(x_of(request))]
        """,
        methods="""
        def initialize(self, args):
            self.repository = args["model_repository"]

        """,
    )
    server.load("given", config=NAMED, files={"file:3/model.py": source})
    server.infer("given", X)

    (folder,) = temporary.iterdir()
    version = folder / "3"
    assert [version, folder, version / "model.py"] == list(map(Path, stage.seen))


def test_a_folder_outlives_the_requests_that_run_in_it(server, temporary):
    """The next load or unload removes it."""
    source = cell(
        """
        stage.values["server"].unload("given")
        stage.seen.append(__import__("os").path.exists(__file__))
        return [reply(x_of(request))]
        """
    )
    stage.values["server"] = server
    server.load("given", config=NAMED, files={"file:1/model.py": source})
    server.infer("given", X)

    assert [True] == stage.seen
    server.unload("given")
    assert [] == list(temporary.iterdir())


def test_a_new_override_replaces_an_old_one(server, temporary):
    """The old folder is removed."""
    server.load("given", config=NAMED, files=TRIPLE)
    other = NAMED | {"metric_tags": {"a": "b"}}
    server.load("given", config=other, files={"file:1/model.py": DOUBLE})

    assert [2, 4] == server.infer("given", X)["Y"].tolist()
    assert 1 == len(list(temporary.iterdir()))


def test_given_files_of_an_equal_configuration_are_not_used(server):
    """As on Triton the model keeps its files; a note says so."""
    server.load("given", config=NAMED, files=TRIPLE)
    server.load("given", config=NAMED, files={"file:1/model.py": DOUBLE})
    run = server.infer("given", X)

    assert [3, 6] == run["Y"].tolist()
    assert [
        "The files given to load 'given' are not used: as on Triton, a model that "
        "serves keeps its files while its configuration is equal, except for instance "
        "groups. Unload the model first, or change a parameter in the configuration."
    ] == run.notes


def test_a_plain_load_ends_given_files(double):
    """The folder counts as newer than files without a time."""
    double.load("double", config=NAMED, files=TRIPLE)
    double.load("double")

    assert [2, 4] == double.infer("double", X)["Y"].tolist()


def test_closing_removes_the_folders(temporary):
    """The private repository is removed, too."""
    with Server() as server:
        server.load("given", config=NAMED, files=TRIPLE)
    assert [] == list(temporary.iterdir())


@pytest.mark.parametrize(
    ("config", "files", "reason"),
    [
        ("{", None, "Invalid config override: the text is not valid JSON: "),
        ("[]", None, "a model configuration must be a JSON object"),
        ('{"bogus": 1}', None, "Invalid config override: bogus: Cannot find field."),
        ('{"name": "other"}', None, "directory name must equal model name"),
        (None, TRIPLE, "'config' must be specified for model file override"),
        (JSON, {"1/model.py": b""}, "expected a file such as 'file:1"),
        (JSON, {"file:": b""}, "must stay within model directory."),
        (JSON, {"file:../model.py": b""}, "must stay within model directory."),
        (JSON, {"file:1/": b""}, "/1/: Is a directory"),
        (JSON, {"file:1": b"", "file:1/model.py": b""}, "exists"),
    ],
)
def test_an_invalid_override(double, temporary, config, files, reason):
    """Triton has one text; the reason is in the advice."""
    with pytest.raises(ModelLoadError) as caught:
        double.load("double", config=config, files=files)

    text = "failed to load 'double', failed to poll from model repository"
    assert (text, "INTERNAL") == (caught.value.message, caught.value.code)
    assert reason in caught.value.reason
    assert [] == list(temporary.iterdir())
    assert [2, 4] == double.infer("double", X)["Y"].tolist()


ASKING = """
try:
    {}
except pb_utils.TritonModelException as error:
    stage.seen.append(str(error))
return [reply(x_of(request))]
"""


def recorded(server: Server, action: str) -> list[str]:
    """Return the records of a model that requests a load or unload."""
    server.define("asking", cell(ASKING.format(action)), config=CONFIG)
    server.infer("asking", X)
    return stage.seen


def test_a_model_loads_and_unloads(double):
    """When the call returns, the load is complete."""
    ready = 'stage.seen.append(pb_utils.is_model_ready("double"))'
    actions = ('pb_utils.unload_model("double")', 'pb_utils.load_model("double")')
    assert [False, True] == recorded(
        double, "; ".join(f"{action}; {ready}" for action in actions)
    )


def test_a_model_can_pass_configuration_and_files(double):
    """The arguments are those of clients."""
    action = f"pb_utils.load_model('double', {JSON!r}, {{'file:1/model.py': b'1 / 0'}})"
    (text,) = recorded(double, action)
    assert text.startswith(
        "Failed to load model: Failed to process the request for model 'asking_0', "
        "message: load failed for model 'double': version 1 is at UNAVAILABLE state: "
        "Internal: ZeroDivisionError: division by zero\n\nAt:\n"
    )

    recorded(double, f"pb_utils.load_model('double', config={JSON!r})")
    assert [2] == dims(double)


def test_a_model_unloads_itself(server):
    """Its request completes, and then it is finalized."""
    methods = 'def finalize(self):\n    stage.seen.append("finalized")\n\n'
    body = """
    pb_utils.unload_model("m")
    stage.seen.append(pb_utils.is_model_ready("m"))
    return [reply(x_of(request))]
    """
    server.define("m", cell(body, methods=methods), config=CONFIG)

    assert [1, 2] == server.infer("m", X)["Y"].tolist()
    assert [False, "finalized"] == stage.seen
    with pytest.raises(InferenceError, match="has no available versions"):
        server.infer("m", X)


@pytest.mark.parametrize("config", [CONFIG, OWN_THREAD], ids=["inline", "own thread"])
def test_a_model_loads_another_in_initialize(double, config):
    """Its own load continues, on whatever thread the hook runs."""
    methods = """
    def initialize(self, args):
        pb_utils.unload_model("double")
        pb_utils.load_model("double")
        stage.seen.append(pb_utils.is_model_ready("double"))

    """
    double.define(
        "m", cell("return [reply(x_of(request))]", methods=methods), config=config
    )

    assert [True] == stage.seen
    assert [1, 2] == double.infer("m", X)["Y"].tolist()


def test_a_model_that_loads_itself_would_hang(server):
    """The load waits for `initialize`, which waits for the load."""
    methods = """
    def initialize(self, args):
        try:
            pb_utils.load_model("m")
        except Exception:
            stage.seen.append("caught")

    """
    with pytest.raises(WouldHang, match=r"loading 'm' calls initialize\(\)"):
        server.define("m", cell("pass", methods=methods), config=CONFIG)

    assert [] == stage.seen
    assert [] == server.models()


def test_a_circle_of_loads_would_hang(double):
    """A circle through another model is found, and ends the request."""
    methods = "def initialize(self, args):\n    pb_utils.load_model({!r})\n\n"
    for name, other in (("a", "b"), ("b", "a")):
        folder = parts_of(double).repository.private_root / name / "1"
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(cell("pass", methods=methods.format(other)))

    with pytest.raises(WouldHang, match="'a'"):
        recorded(double, 'pb_utils.load_model("a")')
    assert [2, 4] == double.infer("double", X)["Y"].tolist()
    assert [] == stage.seen


def test_ctrl_c_in_a_load_of_a_model_ends_the_request(double, ctrl_c):
    """Models cannot prevent it; serving versions still serve."""
    methods = "def initialize(self, args):\n    stage.sleep()\n\n"
    folder = parts_of(double).repository.private_root / "slow" / "1"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(cell("pass", methods=methods))

    ctrl_c.expect(lambda: recorded(double, 'pb_utils.load_model("slow")'))
    assert [] == stage.seen
    assert [2, 4] == double.infer("double", X)["Y"].tolist()


def test_ctrl_c_finds_the_models_of_folders_that_came_later(server, tmp_path, ctrl_c):
    """An interrupt there is raised in the model, as in any other folder."""
    loop = "stage.events['asleep'].set()\nwhile True:\n    pass"
    (tmp_path / "later" / "1").mkdir(parents=True)
    (tmp_path / "later" / "1" / "model.py").write_text(cell(loop))
    (tmp_path / "later" / "config.pbtxt").write_text(CONFIG)
    server.import_repository(tmp_path)
    ctrl_c.press()

    with pytest.raises(KeyboardInterrupt) as raised:
        server.infer("later", X)

    assert str(tmp_path) in str(raised.traceback[-1].path)


def test_the_source_of_a_serving_model_is_known(double):
    """It is its folder, changed or not, or an override; none of another name."""
    sources = parts_of(double).control.sources
    path = parts_of(double).repository.directory("double").path

    def known(name: str) -> tuple[object, ...]:
        folder, changed = sources.folder(name), sources.is_changed(name)
        return folder and folder.path, sources.is_overridden(name), changed

    assert (path, False, False) == known("double")
    assert (None, False, False) == known("nobody")
    (path / "1" / "model.py").write_text(f"{DOUBLE}\n")
    assert (path, False, True) == known("double")
    double.load("double", config=JSON)
    assert (path, True, False) == known("double")
    double.unload("double")
    assert (None, False, False) == known("double")
