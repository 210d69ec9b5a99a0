"""Broken repositories: each causes a clear error, and other models serve."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from asserting import every
from cells import CONFIG, DOUBLE, touch

from blsnb import ModelLoadError, Server
from blsnb.errors import RepositoryError
from blsnb.parts.server_parts import parts_of
from blsnb.repository import directory

X = {"X": np.array([1, 2], np.float32)}
NOBODY = 65534


def put(folder: Path, name: str = "m") -> Path:
    """Write a valid model to disk and return its file."""
    model = folder / name / "1" / "model.py"
    model.parent.mkdir(parents=True)
    model.write_text(DOUBLE)
    (folder / name / "config.pbtxt").write_text(CONFIG)
    return model


def spoil(path: Path, how: str) -> None:
    """Replace a file by something invalid."""
    path.unlink()
    match how:
        case "missing":
            return
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link to nowhere":
            path.symlink_to("nowhere")
        case "link in a circle":
            path.symlink_to(path.name)
        case "zero bytes":
            path.write_bytes(b"\0\0")
        case "no text":
            path.write_bytes(b"\xff\xfe")
        case "empty":
            path.write_text("")
        case "half":
            path.write_text(DOUBLE[: len(DOUBLE) // 2] + "\n    (")


NO_FILE = "Python model file not found in '/.*/m/1/model.py'"
MODELS = {
    "missing": "Could not determine backend for model 'm'",
    "folder": NO_FILE,
    "pipe": NO_FILE,
    "link to nowhere": NO_FILE,
    "link in a circle": NO_FILE,
    "zero bytes": "Internal: SyntaxError: source code string cannot contain null bytes",
    "no text": "Internal: SyntaxError: ",
    "empty": "module '1.model' has no attribute 'TritonPythonModel'",
    "half": "Internal: SyntaxError: ",
}
CONFIGS = {
    "folder": "failed to open text file for read .*config.pbtxt: Is a directory",
    "pipe": "failed to open text file for read .*config.pbtxt: Not a file",
    "zero bytes": "failed to read text proto from .*config.pbtxt",
    "no text": "failed to read text proto from .*config.pbtxt",
    "half": "failed to read text proto from .*config.pbtxt",
}


@pytest.mark.parametrize(("how", "reason"), MODELS.items(), ids=MODELS)
def test_an_invalid_model_file(tmp_path, how, reason):
    """Its load fails with the reason; it loads once the file is fixed."""
    model = put(tmp_path)
    spoil(model, how)
    with Server(model_repository=tmp_path) as server:
        with pytest.raises(ModelLoadError, match=reason):
            server.load("m")
        remove(model)
        model.write_text(DOUBLE)
        assert "READY" == server.load("m").state


@pytest.mark.parametrize(("how", "reason"), CONFIGS.items(), ids=CONFIGS)
def test_an_invalid_configuration(tmp_path, how, reason):
    """The error is Triton's, with the reason; it loads once the file is fixed."""
    config = put(tmp_path).parents[1] / "config.pbtxt"
    spoil(config, how)
    with Server(model_repository=tmp_path) as server:
        with pytest.raises(ModelLoadError, match=reason) as caught:
            server.load("m")
        assert caught.value.message.endswith("failed to poll from model repository")
        remove(config)
        config.write_text(CONFIG)
        assert "READY" == server.load("m").state


@pytest.mark.parametrize("name", ["1/model.py", "config.pbtxt"])
@pytest.mark.parametrize("how", ["zero bytes", "no text", "half"])
def test_a_broken_file_does_not_end_service(tmp_path, name, how):
    """The version loaded before the file broke still serves."""
    folder = put(tmp_path).parents[1]
    with Server(model_repository=tmp_path, startup_models="m") as server:
        spoil(folder / name, how)
        touch(server, "m")
        with pytest.raises(ModelLoadError):
            server.load("m")
        assert [2, 4] == server.infer("m", X)["Y"].tolist()
        assert "READY" == server.index()[0]["state"]


def remove(path: Path) -> None:
    """Remove a file or folder."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Run without privileges, even if the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may enter, unlike the temporary folders of pytest."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_configuration_without_read_permission(public):
    """The error names it with Triton's text."""
    config = put(public).parents[1] / "config.pbtxt"
    config.chmod(0)
    with (
        Server(model_repository=public) as server,
        unprivileged(),
        pytest.raises(ModelLoadError) as caught,
    ):
        server.load("m")
    text = f"failed to open text file for read {config}: Permission denied"
    assert text == caught.value.reason


def test_a_model_file_without_read_permission(public):
    """The version loaded before still serves."""
    model = put(public)
    with Server(model_repository=public, startup_models="m") as server:
        touch(server, "m")
        model.chmod(0)
        with unprivileged(), pytest.raises(ModelLoadError, match="Permission denied"):
            server.load("m")
        assert [2, 4] == server.infer("m", X)["Y"].tolist()


def test_a_model_folder_without_permission(public):
    """It has no visible versions; other models are not affected."""
    folder = put(public).parents[1]
    put(public, "other")
    folder.chmod(0)
    with Server(model_repository=public, startup_models="other") as server:
        with unprivileged():
            assert ["m", "other"] == parts_of(server).repository.names()
            with pytest.raises(ModelLoadError, match="'m'"):
                server.load("m")
        assert [2, 4] == server.infer("other", X)["Y"].tolist()
    folder.chmod(0o755)


def test_an_export_without_write_permission(public):
    """The error names the folder, and nothing is written."""
    put(public / "models")
    (public / "out").mkdir(mode=0o555)
    with (
        Server(model_repository=public / "models") as server,
        unprivileged(),
        pytest.raises(RepositoryError, match=r"Permission denied.* As before: m\."),
    ):
        server.export_repository(public / "out")
    assert [] == list((public / "out").iterdir())


OUTSIDE = ["../other", "..", ".", "", "/etc", "m/1", "a\0b", "\udcff", ".hidden"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_is_a_path(monkeypatch, tmp_path, name):
    """Every method refuses a path; nothing is written or loaded."""
    private, given = tmp_path / "private", tmp_path / "given"
    private.mkdir()
    given.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    with Server() as server:
        before = set(private.rglob("*"))
        _refuses(server, given, name)

        assert before == set(private.rglob("*"))
        assert [] == list(given.iterdir())


def _refuses(server, given, name):
    refused = "failed to poll from|cannot be empty|must not contain path traversal"
    with pytest.raises(ModelLoadError, match=refused):
        server.load(name)
    for write in (
        lambda: server.define(name, DOUBLE),
        lambda: parts_of(server).models.change(name, {"config.pbtxt": ""}),
    ):
        with pytest.raises(RepositoryError, match="cannot name a model"):
            write()
    with pytest.raises(RepositoryError, match="there is no such model"):
        server.export_repository(given / "out", [name])
    with pytest.raises(RepositoryError, match="has no model"):
        server.import_repository(given, [name])
    if "/" in name or name in ("", ".."):
        with pytest.raises(ModelLoadError, match=refused):
            server.unload(name)
    else:
        server.unload(name)


def test_a_folder_whose_name_is_not_valid_unicode(tmp_path):
    """It is ignored, since no configuration could contain its name."""
    put(tmp_path)
    os.mkdir(os.fsencode(tmp_path) + b"/\xff\xfe")
    with Server(model_repository=tmp_path, startup_models="*") as server:
        assert ["m"] == [model.name for model in server.models()]


def test_a_link_out_of_the_repository_is_read_and_never_written(server, tmp_path):
    """It is loaded as on Triton; a cell of that name becomes a separate model."""
    model = put(tmp_path / "elsewhere")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m").symlink_to(tmp_path / "elsewhere" / "m")
    (status,) = server.import_repository(tmp_path / "models")
    assert "READY" == status.state

    parts_of(server).models.change(
        "m", {"config.pbtxt": f"{CONFIG}\n# mine", "1/more.py": ""}
    )
    assert [2, 4] == server.infer("m", X)["Y"].tolist()
    assert DOUBLE == model.read_text()
    assert ["model.py"] == [path.name for path in model.parent.iterdir()]
    assert CONFIG == (model.parents[1] / "config.pbtxt").read_text()


class Counting:
    """Counts how many folders are listed."""

    def __init__(self, monkeypatch) -> None:
        self.count = 0
        real = os.scandir

        def scandir(path):
            self.count += 1
            return real(path)

        monkeypatch.setattr(directory.os, "scandir", scandir)

    def of(self, work) -> int:
        self.count = 0
        work()
        return self.count


def crowd(folder: Path, count: int) -> Path:
    """Make a repository with a number of models, one of which is valid."""
    put(folder)
    for number in range(count - 1):
        (folder / f"n{number}").mkdir()
    return folder


def test_ten_thousand_models_are_not_read(tmp_path, monkeypatch):
    """Starting, loading one and listing all list as many folders as with ten models."""
    counts = []
    for size in (10, 10_000):
        folder = crowd(tmp_path / str(size), size)
        counting = Counting(monkeypatch)
        looks = []
        servers = []
        looks.append(
            counting.of(
                lambda f=folder, s=servers: s.append(Server(model_repository=f))
            )
        )
        with servers[0] as server:
            looks.append(counting.of(lambda s=server: s.load("m")))
            looks.append(counting.of(lambda s=server: s.index()))
            looks.append(counting.of(lambda s=server: s.models()))
            assert size == len(server.models())
            assert [2, 4] == server.infer("m", X)["Y"].tolist()
        counts.append(looks)
        monkeypatch.undo()

    assert counts[0] == counts[1]
    assert max(counts[0]) <= 8


def fastest(work) -> float:
    """Return the CPU seconds of the fastest of a few calls."""
    times = []
    for _ in range(5):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times)


def test_the_time_of_a_listing_grows_linearly(tmp_path):
    """Ten times as many models take about ten times as long, not a hundred times."""
    seconds = []
    for size in (1_000, 10_000):
        folder = crowd(tmp_path / str(size), size)
        with Server(model_repository=folder) as server:
            seconds.append(
                (fastest(server.index), fastest(server.models), fastest(lambda: server))
            )
    small, large = seconds
    assert every(many < 40 * few + 0.05 for few, many in zip(small, large, strict=True))


def test_a_name_that_is_nearly_one_of_ten_thousand(tmp_path):
    """The error comes at once, and suggests the name."""
    folder = crowd(tmp_path, 10_000)
    with Server(model_repository=folder) as server:
        start = time.thread_time()
        with pytest.raises(ModelLoadError, match=r"Did you mean 'n9998'\?"):
            server.load("n9998_")
        assert time.thread_time() - start < 5
