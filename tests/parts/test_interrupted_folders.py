"""Ctrl-C at any line of a removal, a reload and an export in place."""

from __future__ import annotations

import contextlib
import itertools
from functools import partial
from pathlib import Path

import pytest
from attacks import Figures
from cells import CONFIG, cell
from faults import LineFault, lines_of, press_ctrl_c

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of

X = {"X": [1.0]}
ROOMS = ("files/owned.py", "files/swap.py", "files/whole.py", "repository", "parts")
STEPS = [
    pytest.param(997, id="some lines"),
    pytest.param(
        7, id="every seventh line", marks=[pytest.mark.slow, pytest.mark.timeout(600)]
    ),
]
REMOVAL_STEPS = [
    pytest.param(3, id="every third line"),
    pytest.param(1, id="every line", marks=pytest.mark.slow),
]
READS_DATA = cell(
    "return [reply(x_of(request) * self.factor)]",
    methods="""
def initialize(self, args):
    import pathlib
    self.factor = int((pathlib.Path(__file__).parent / "data").read_text())

""",
)
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)


class Interrupts:
    """Repeats a call, with Ctrl-C at one line after the other.

    Parameters
    ----------
    prepare
        Called before each call, and before the lines are counted.
    call
        The interrupted call.
    """

    def __init__(self, prepare, call) -> None:
        self._prepare = prepare
        self._call = call
        self.count = 0

    def every(self, step: int):
        """Yield the line of each interrupt after it happened."""
        self._prepare()
        lines = lines_of(self._call, ROOMS)
        for number in range(1, lines + 1, step):
            self._prepare()
            fault = LineFault(number, ROOMS, press_ctrl_c)
            with contextlib.suppress(KeyboardInterrupt):
                fault.during(self._call)
            self.count += bool(fault.where)
            yield fault.where


def private_names(server: Server) -> list[str]:
    """Return the names in the folder of the server's own models."""
    root = parts_of(server).repository.private_root
    return sorted(each.name for each in root.iterdir())


@pytest.mark.parametrize("step", REMOVAL_STEPS)
def test_a_model_is_removed_or_not(server, figures: Figures, step):
    """It is listed if its folder exists, and no part of the folder is left over."""

    def define():
        server.define("m", cell("return [reply(x_of(request))]"), config=CONFIG)

    interrupts = Interrupts(define, lambda: server.remove("m"))
    for where in interrupts.every(step):
        names = private_names(server)
        assert names in ([], ["m"]), where
        assert names == [each.name for each in server.models()], where
        if server.models() and server.model("m").state == "READY":
            assert [1] == server.infer("m", X)["Y"].tolist(), where
    figures(interrupts=interrupts.count)


def write(folder: Path, number: int) -> None:
    """Write a user's model that multiplies by a number."""
    (folder / "1").mkdir(parents=True, exist_ok=True)
    files = {
        "1/data": str(number),
        "config.pbtxt": CONFIG,
        "1/model.py": source(number),
    }
    for path, text in files.items():
        (folder / path).write_text(text)


def source(number: int) -> str:
    """Return a numbered source that multiplies by what its file of data says."""
    return f"{READS_DATA}# {number}\n"


def shown(server: Server) -> list[int]:
    """Return the factor that serves, and the one in the model's present folder."""
    directory = parts_of(server).repository.directory("m")
    assert directory is not None
    serving = server.infer("m", X)["Y"].tolist()
    return [*map(int, serving), int((directory.path / "1" / "data").read_text())]


@pytest.mark.parametrize("step", STEPS)
def test_a_saved_model_replaces_its_copy_or_not(
    tmp_path, step, monkeypatch, figures: Figures
):
    """The user saves what a cell wrote, and more: their folder serves, or the copy."""
    monkeypatch.setattr("blsnb.parts.following._PAUSE_S", 0.001)
    numbers = itertools.count(2)

    def prepare():
        number = next(numbers)
        server.define("m", source(number))
        assert [number - 1] * 2 == shown(server)
        write(tmp_path / "m", number)

    write(tmp_path / "m", 1)
    with Server() as server:
        server.import_repository(tmp_path, watch=True)
        look = parts_of(server).following.poll
        interrupts = Interrupts(prepare, look)
        for number, where in enumerate(interrupts.every(step), 3):
            assert shown(server) in ([number - 1] * 2, [number] * 2), where
            assert [] == [n for n in private_names(server) if "removed" in n], where
            look()
            assert [number] * 2 == shown(server), where
    figures(interrupts=interrupts.count)


def test_ctrl_c_in_a_look_does_not_end_later_looks(tmp_path):
    """It may come when the look has begun and nothing else is done yet."""
    write(tmp_path / "m", 1)
    with Server() as server:
        server.import_repository(tmp_path, watch=True)
        look = parts_of(server).following.poll
        for number in range(1, 9):
            fault = LineFault(number, ["parts/following.py"], press_ctrl_c)
            with pytest.raises(KeyboardInterrupt):
                fault.during(look)
        write(tmp_path / "m", 2)
        look()
        assert [2, 2] == shown(server)


@pytest.mark.parametrize("step", STEPS)
def test_an_export_in_place_is_made_or_not(tmp_path, step, figures: Figures):
    """All files of the user's folder are old, or all are new."""
    root = tmp_path / "models"
    numbers = itertools.count(2)

    def prepare():
        number = next(numbers)
        server.define("m", source(number), files={"data": str(number)})

    write(root / "m", 1)
    with Server() as server:
        server.import_repository(root)
        export = partial(server.export_repository, in_place=True)
        interrupts = Interrupts(prepare, export)
        for number, where in enumerate(interrupts.every(step), 3):
            assert files_of(root) in (written(number - 1), written(number)), where
            assert [root] == list(tmp_path.iterdir()), where
            export()
            assert written(number) == files_of(root), where
    figures(interrupts=interrupts.count)


def written(number: int) -> dict[str, str]:
    """Return the files of the user's folder after an export."""
    texts = (str(number), source(number), CONFIG)
    return dict(zip(("m/1/data", "m/1/model.py", "m/config.pbtxt"), texts, strict=True))


def files_of(root: Path) -> dict[str, str]:
    """Return the texts of all files below a folder."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_text() for path in files}
