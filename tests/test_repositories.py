"""Repositories on disk, as a server meets them: loaded as they are, and given back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, TRIPLE, cell
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from strategies import examples

from blsnb import ModelLoadError, Server
from blsnb.errors import RepositoryError, ServerClosedError
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1, 2], np.float32)}
POLL = "failed to load 'm', failed to poll from model repository"


def put(folder: Path, name: str, source: str = DOUBLE, config: str = CONFIG) -> Path:
    """Write a model to disk."""
    (folder / name / "1").mkdir(parents=True, exist_ok=True)
    (folder / name / "1" / "model.py").write_text(source)
    (folder / name / "config.pbtxt").write_text(config)
    return folder / name


def answer(server: Server, name: str) -> list[float]:
    """Return a model's response to ``[1, 2]``."""
    return server.infer(name, X)["Y"].tolist()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return everything below a folder; None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def test_a_repository_is_imported_in_place(server, tmp_path):
    """All its models serve, and nothing is written there."""
    put(tmp_path, "double")
    put(tmp_path, "triple", TRIPLE)
    (tmp_path / "README.md").write_text("no model")
    before = tree(tmp_path)
    statuses = server.import_repository(tmp_path)

    assert [("double", "READY"), ("triple", "READY")] == [
        (status.name, status.state) for status in statuses
    ]
    assert [[2, 4], [3, 6]] == [answer(server, "double"), answer(server, "triple")]
    assert tmp_path / "double" == parts_of(server).repository.directory("double").path
    assert before == tree(tmp_path)


def test_only_named_models_are_loaded(server, tmp_path):
    """The others can be loaded later."""
    put(tmp_path, "double")
    put(tmp_path, "triple")
    (status,) = server.import_repository(str(tmp_path), ["triple"])

    assert "triple" == status.name
    assert [{"name": "double"}] == server.index()[:1]
    assert "READY" == server.load("double").state


def test_importing_an_unknown_name_is_an_error(server, tmp_path):
    """The error lists the models, and nothing is loaded."""
    put(tmp_path, "double")

    with pytest.raises(RepositoryError, match="no model 'nowhere'; it has: double"):
        server.import_repository(tmp_path, ["double", "nowhere"])
    assert [{"name": "double"}] == server.index()


@pytest.mark.parametrize("path", ["none", "file"])
def test_a_missing_folder_cannot_be_imported(server, tmp_path, path):
    """The error names it."""
    (tmp_path / "file").write_text("")

    with pytest.raises(RepositoryError, match=f"{path}' is not a folder of models"):
        server.import_repository(tmp_path / path)


def test_a_failing_model_does_not_prevent_others(server, tmp_path):
    """Its status has the reason, even if Triton only logs it."""
    put(tmp_path, "a", "1 / 0")
    put(tmp_path, "b", config="max_batch_size: {")
    put(tmp_path, "c")
    (tmp_path / "d").mkdir()
    a, b, c, d = server.import_repository(tmp_path)

    assert "Internal: ZeroDivisionError" in a.reason
    assert "failed to read text proto" in b.reason
    assert ("READY", "") == (c.state, c.reason)
    assert "Could not determine backend for model 'd'" in d.reason


def test_a_model_of_the_notebook_hides_an_imported_one(server, tmp_path):
    """Its status says so, and it still serves."""
    server.define("m", DOUBLE, config=CONFIG)
    put(tmp_path, "m", TRIPLE)
    (status,) = server.import_repository(tmp_path)

    assert "hides the one that was imported" in status.reason
    assert [2, 4] == answer(server, "m")


def test_importing_again_changes_nothing(server, tmp_path):
    """The server already has the folder."""
    put(tmp_path, "m")
    server.import_repository(tmp_path)
    assert server.import_repository(tmp_path) == server.models()


def test_a_closed_server_imports_nothing(tmp_path):
    """The error is that of all methods."""
    server = Server()
    server.close()

    with pytest.raises(ServerClosedError):
        server.import_repository(tmp_path)


@pytest.fixture
def two(tmp_path):
    """A server with two repositories that both have a model ``m``."""
    put(tmp_path / "a", "m")
    put(tmp_path / "b", "m", TRIPLE)
    put(tmp_path / "b", "n")
    with Server(model_repository=[tmp_path / "a", tmp_path / "b"]) as server:
        yield server


RIVAL = {
    "name": "m",
    "state": "UNAVAILABLE",
    "reason": "model appears in two or more repositories",
}


def test_a_model_in_two_repositories_is_not_loaded(two):
    """The error has Triton's texts and both folders."""
    with pytest.raises(ModelLoadError) as caught:
        two.load("m")

    assert (POLL, "INTERNAL") == (caught.value.message, caught.value.code)
    assert "not unique across all model repositories" in caught.value.reason
    assert re.fullmatch(
        r"It is in /.+/m and /.+/m: remove or rename all but one\.", caught.value.advice
    )
    assert [RIVAL, {"name": "n"}] == two.index()
    assert "READY" == two.load("n").state


def test_a_later_model_of_the_same_name_ends_no_service(server, tmp_path):
    """The loaded version still serves and can be unloaded, whatever the index says."""
    put(tmp_path / "a", "m")
    put(tmp_path / "b", "m", TRIPLE)
    server.import_repository(tmp_path / "a")
    (status,) = server.import_repository(tmp_path / "b")

    assert "READY" == status.state
    assert "not unique across all model repositories" in status.reason
    assert [RIVAL] == server.index()
    assert [2, 4] == answer(server, "m")
    server.unload("m")
    assert [RIVAL] == server.index()


def test_removing_the_other_model_fixes_it(two, tmp_path):
    """The next load finds the remaining one."""
    (tmp_path / "a" / "m").rename(tmp_path / "away")

    assert "READY" == two.load("m").state
    assert [3, 6] == answer(two, "m")
    assert {"name": "m", "version": "1", "state": "READY"} == two.index()[0]


def test_an_exported_model_is_imported_and_responds_equally(server, tmp_path):
    """It is equal byte by byte, with its helper files."""
    source = "import helper\n" + cell("return [reply(x_of(request) * helper.FACTOR)]")
    files = {"helper.py": "FACTOR = 5", "sub/raw": b"\0\xff\r\n"}
    server.define("m", source, config=CONFIG, files=files)
    server.define("double", DOUBLE, config=CONFIG, version=3)
    exported = server.export_repository(tmp_path / "out")

    with Server() as other:
        statuses = other.import_repository(tmp_path / "out")
        assert exported.models == tuple(status.name for status in statuses)
        assert [[5, 10], [2, 4]] == [answer(other, "m"), answer(other, "double")]
        assert server.config("m") == other.config("m")
        other.export_repository(tmp_path / "again")
    assert tree(tmp_path / "out") == tree(tmp_path / "again")


@pytest.mark.parametrize("files", [None, {"file:1/model.py": TRIPLE}])
def test_an_override_is_not_exported(server, tmp_path, files):
    """The folder is exported, and a note says so until it serves again."""
    server.define("m", DOUBLE, config=CONFIG)
    override = {"backend": "python"}
    server.load("m", config=override, files=files)
    (note,) = server.export_repository(tmp_path / "out").notes

    assert note.startswith("m: it serves with a configuration or files of its load()")
    assert DOUBLE == (tmp_path / "out" / "m" / "1" / "model.py").read_text()
    server.unload("m")
    server.load("m")
    assert () == server.export_repository(tmp_path / "out").notes


NAMES = st.text("abcXYZ019_-. ä", min_size=1, max_size=6).filter(
    lambda name: not name.startswith(".")
)
FOLDERS = st.text("abc_.", min_size=1, max_size=3).filter(
    lambda name: name.strip(".") == name and name != "__pycache__"
)
PATHS = st.lists(FOLDERS, min_size=1, max_size=3).map("/".join)


def can_be(files: dict[str, bytes]) -> bool:
    """Return whether no path is the folder of another."""
    return not any(path.startswith(f"{other}/") for path in files for other in files)


FILES = st.dictionaries(PATHS, st.binary(max_size=20), max_size=3).filter(can_be)


@examples(
    40,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)
@given(models=st.dictionaries(NAMES, FILES, min_size=1, max_size=3))
def test_export_and_import_change_nothing(models, tmp_path_factory):
    """Any names and contents of models survive the round trip."""
    folder = tmp_path_factory.mktemp("round")
    with Server() as server:
        for name, files in models.items():
            written = {f"files/{path}": content for path, content in files.items()}
            with parts_of(server).repository.changing(
                name, {"1/model.py": ""} | written
            ):
                pass
        before = {
            name: tree(parts_of(server).repository.directory(name).path)
            for name in models
        }
        server.export_repository(folder / "out")
    with Server(model_repository=folder / "out") as other:
        assert sorted(models) == parts_of(other).repository.names()
        after = {
            name: tree(parts_of(other).repository.directory(name).path)
            for name in models
        }
        other.export_repository(folder / "again")

    assert before == after
    assert tree(folder / "out") == tree(folder / "again")
