"""Repositories that others change, links in circles, and a clock that jumps."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, cell

from blsnb.errors import RepositoryError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.repository import export as export_module
from blsnb.repository.export import Export, exportable
from blsnb.repository.repository import ModelRepository

X = {"X": np.array([1], np.float32)}
EXPORTER = """
import sys
from pathlib import Path
from blsnb.repository import export
export.requirements_text = lambda folders: "numpy"
from blsnb.repository.export import Export, exportable
from blsnb.repository.repository import ModelRepository
target, own, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
repository = ModelRepository()
for number in range(rounds):
    for name in (own, "shared"):
        files = {"1/model.py": f"# {number}", "1/data": f"# {number}"}
        with repository.changing(name, files):
            pass
    chosen, notes = exportable(repository)
    Export(target, (24, 10)).write(chosen, notes)
repository.close()
"""


def times(factor: int) -> str:
    """Return a model that multiplies."""
    return cell(f"return [reply(x_of(request) * {factor})]")


def export(repository, target, force=False):
    """Export all models."""
    chosen, notes = exportable(repository)
    return Export(target, (24, 10), force=force).write(chosen, notes)


def test_two_kernels_export_to_one_folder_at_once(tmp_path):
    """Each model is whole at all times, and every file is known to both."""
    target = tmp_path / "beside" / "out"
    target.mkdir(parents=True)
    words = [sys.executable, "-c", EXPORTER, str(target)]
    kernels = [subprocess.Popen([*words, own, "4"]) for own in ("one", "two")]
    while any(kernel.poll() is None for kernel in kernels):
        model = target / "shared"
        if model.is_dir():
            # Opened once, the folder is the same, whatever takes its place.
            folder = os.open(model, os.O_RDONLY)
            held = {_read(folder, "1/model.py"), _read(folder, "1/data")} - {None}
            os.close(folder)
            assert len(held) <= 1
    assert [0, 0] == [kernel.returncode for kernel in kernels]

    assert {"one", "two", "shared"} == {e.name for e in target.iterdir() if e.is_dir()}
    assert [target] == list(target.parent.iterdir())
    own = ModelRepository()
    for name in ("one", "two", "shared"):
        with own.changing(name, {"1/model.py": "# new"}):
            pass
    assert ("one", "shared", "two") == export(own, target).models
    own.close()


def _read(folder: int, path: str) -> str | None:
    """Read a file of a folder that may be going away."""
    try:
        file = os.open(path, os.O_RDONLY, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(file) as opened:
        return opened.read()


def test_a_kernel_follows_exports_of_another_kernel(tmp_path, monkeypatch):
    """Each load serves the latest export."""
    monkeypatch.setattr(export_module, "requirements_text", lambda folders: "numpy\n")
    with Server() as writer, Server() as reader:
        writer.define("m", times(1), config=CONFIG)
        writer.export_repository(tmp_path / "out")
        reader.import_repository(tmp_path / "out")
        for factor in range(2, 6):
            writer.define("m", times(factor), config=CONFIG)
            writer.export_repository(tmp_path / "out")
            reader.load("m")
            assert [factor] == reader.infer("m", X)["Y"].tolist()


def test_two_kernels_change_the_same_imported_model_for_themselves(tmp_path):
    """The folder stays as it is; each serves its own."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.py").write_text(times(1))
    (tmp_path / "m" / "config.pbtxt").write_text(CONFIG)
    with (
        Server(model_repository=tmp_path) as one,
        Server(model_repository=tmp_path) as two,
    ):
        one.define("m", times(2))
        two.define("m", times(3))
        assert [2] == one.infer("m", X)["Y"].tolist()
        assert [3] == two.infer("m", X)["Y"].tolist()
    assert times(1) == (tmp_path / "m" / "1" / "model.py").read_text()
    assert ["m"] == [each.name for each in tmp_path.iterdir()]


@pytest.fixture
def circles(tmp_path) -> Path:
    """A folder of models with links that lead into themselves."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.py").write_text(times(2))
    (tmp_path / "m" / "config.pbtxt").write_text(CONFIG)
    (tmp_path / "m" / "1" / "up").symlink_to("..")
    (tmp_path / "m" / "1" / "self").symlink_to("self")
    (tmp_path / "all").symlink_to(".")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    return tmp_path


def test_links_in_circles_are_no_reason_not_to_load(circles):
    """A link to a folder is a model without version; other links are ignored."""
    with Server(model_repository=circles) as server:
        assert ["all", "m"] == parts_of(server).repository.names()
        server.load("m")
        server.load("m")
        assert [2] == server.infer("m", X)["Y"].tolist()


def test_a_model_with_a_circle_cannot_be_copied(circles):
    """Export and change name the link and leave nothing."""
    with Server(model_repository=circles) as server:
        with pytest.raises(
            RepositoryError, match=r"1/self is neither a file nor a link to one$"
        ):
            server.define("m", times(3))
        with pytest.raises(
            RepositoryError, match=r"1/self is neither a file nor a link to one$"
        ):
            server.export_repository(circles / "out", ["m"])
        (circles / "m" / "1" / "self").unlink()
        with pytest.raises(
            RepositoryError, match=r"up is a link to a folder above it$"
        ):
            server.define("m", times(3))
        (circles / "m" / "1" / "up").unlink()
        server.define("m", times(3))
        assert [3] == server.infer("m", X)["Y"].tolist()


def test_a_circle_in_a_model_of_our_own_stays_a_link(tmp_path):
    """A model may have made it; a change of the model does not follow it."""
    with Server() as server:
        server.define("m", times(2), config=CONFIG)
        link = parts_of(server).repository.private("m").path / "1" / "up"
        link.symlink_to("..")
        server.define("m", times(3), config=f"{CONFIG}# changed")
        assert link.is_symlink()
        assert [3] == server.infer("m", X)["Y"].tolist()


@pytest.mark.parametrize("seconds", [-86_400 * 400, 86_400 * 400])
def test_a_clock_that_jumps(monkeypatch, tmp_path, seconds):
    """What is there counts for definitions, loads and exports, not since when."""
    monkeypatch.setattr(export_module, "requirements_text", lambda folders: "numpy\n")
    clock, clock_ns = time.time, time.time_ns
    with Server() as server:
        server.define("m", times(2), config=CONFIG)
        monkeypatch.setattr(time, "time", lambda: clock() + seconds)
        monkeypatch.setattr(time, "time_ns", lambda: clock_ns() + seconds * 10**9)
        file = parts_of(server).repository.private("m").path / "1" / "model.py"
        jumped = clock() + seconds

        os.utime(file, (jumped, jumped))
        server.define("m", times(3), config=CONFIG)
        assert [3] == server.infer("m", X, client_timeout_s=60)["Y"].tolist()
        file.write_text(times(4))
        os.utime(file, (jumped, jumped))
        assert {"m": None} == parts_of(server).folders.load_changed()
        assert [4] == server.infer("m", X)["Y"].tolist()
        server.export_repository(tmp_path)
        for each in tmp_path.rglob("*"):
            os.utime(each, (jumped, jumped))
        server.export_repository(tmp_path)
        (row,) = server.statistics("m")["model_stats"]
        assert 0 <= row["inference_stats"]["success"]["ns"] < 60 * 10**9
