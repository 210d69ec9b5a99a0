"""Ctrl-C at every line of a change and an export: the old or the new is whole."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from faults import FILES, LineFault, lines_of, press_ctrl_c, raise_interrupt

from blsnb.errors import RepositoryError
from blsnb.files import swap
from blsnb.repository import export as export_module
from blsnb.repository.export import Export, exportable
from blsnb.repository.manifest import MANIFEST
from blsnb.repository.repository import ModelRepository

ROOMS = (*FILES, "repository")
EXPORT = (
    *FILES,
    *(f"repository/{each}.py" for each in ("copying", "export", "manifest")),
)
"""Where an export writes; texts are made elsewhere."""
OLD = {"config.pbtxt": "", "1/model.py": "old", "1/sub/gone.py": "old", "1/kept": "x"}
NEW = {"1/model.py": "new", "1/sub/gone.py": None, "2/deep/added.py": "new"}
WAYS = {"raised": raise_interrupt, "signal": press_ctrl_c}
SWAPS = ("exchange", "two steps")
FEW = [("raised", "exchange"), ("signal", "two steps")]
pytestmark = pytest.mark.filterwarnings(
    # An interrupted `with open(...)` leaves its file to the collector.
    "ignore::pytest.PytestUnraisableExceptionWarning"
)


def ways(step: int) -> list[object]:
    """Return the ways of an interrupt: at some lines, and by and by at every one."""
    few = [pytest.param(*each, step, id=" ".join(each)) for each in FEW]
    all_of = [
        pytest.param(way, how, 1, id=f"{way} {how} every line", marks=pytest.mark.slow)
        for way in WAYS
        for how in SWAPS
    ]
    return [*few, *all_of]


@pytest.fixture
def interrupt(way, how, monkeypatch):
    """What happens at a line, where the system can exchange folders or cannot."""
    if how == "two steps":
        monkeypatch.setattr(swap, "_renameat2", lambda: None)
    return WAYS[way]


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder; None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
    }


class Failed(Exception):
    """The model does not load."""


def change(repository, files, fails=False):
    """Change a model; undo it if it does not load."""
    with repository.changing("m", files):
        if fails:
            raise Failed


def tried(repository, files, fails=False):
    """Change a model, and mind no failure."""
    with contextlib.suppress(Failed):
        change(repository, files, fails)


def states(tmp_path, files, fails):
    """Return the tree before and after a change."""
    repository = ModelRepository([tmp_path])
    change(repository, OLD)
    old = tree(repository.private_root)
    tried(repository, files, fails)
    new = tree(repository.private_root)
    repository.close()
    return old, new


@pytest.mark.parametrize(("way", "how", "step"), ways(11))
@pytest.mark.parametrize("fails", [False, True], ids=["loads", "fails"])
def test_a_change_is_made_or_not(interrupt, tmp_path, step, fails, figures):
    """Whether the model loads, or the change is being undone; nothing is left over."""
    old, new = states(tmp_path, NEW, fails)
    repository = ModelRepository([tmp_path])
    change(repository, OLD)
    lines = lines_of(lambda: tried(repository, NEW, fails), ROOMS)

    for number in range(1, lines + 1, step):
        change(repository, {"1/model.py": None, "2/deep/added.py": None} | OLD)
        change(repository, {"2": None})
        assert old == tree(repository.private_root)
        fault = LineFault(number, ROOMS, interrupt)
        with pytest.raises((KeyboardInterrupt, Failed)) as caught:
            fault.during(lambda: tried(repository, NEW, fails))
        assert KeyboardInterrupt is caught.type, fault.where
        assert tree(repository.private_root) in (old, new), fault.where

    figures(interrupts=len(range(1, lines + 1, step)))
    repository.close()
    assert not repository.private_root.exists()


@pytest.mark.parametrize(("way", "how", "step"), ways(11))
def test_a_new_model_is_there_or_not(interrupt, tmp_path, step, figures):
    """One of the user's that is changed for the first time, too: theirs stays."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.py").write_text("theirs")
    theirs = tree(tmp_path)
    repository = ModelRepository([tmp_path])
    lines = lines_of(lambda: change(repository, NEW), ROOMS)
    new = tree(repository.private_root)
    repository.close()

    for number in range(1, lines + 1, step):
        repository = ModelRepository([tmp_path])
        fault = LineFault(number, ROOMS, interrupt)
        with pytest.raises(KeyboardInterrupt):
            fault.during(lambda of=repository: change(of, NEW))
        assert tree(repository.private_root) in ({}, new), fault.where
        repository.close()
    assert theirs == tree(tmp_path)
    figures(interrupts=len(range(1, lines + 1, step)))


def export(repository, target):
    """Export every model."""
    chosen, notes = exportable(repository)
    return Export(target, (24, 10)).write(chosen, notes)


def exported_models(folder: Path) -> dict[str, dict[str, bytes | None]]:
    """Return each model's files, and what else there is."""
    return {each.name: tree(each) if each.is_dir() else {} for each in folder.iterdir()}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("way", "how", "step"), ways(71))
def test_each_exported_model_is_the_old_or_the_new(
    interrupt, tmp_path, step, monkeypatch, figures
):
    """Nothing is left over, and the next export takes nothing for foreign."""
    # To look for packages takes long, and writes nothing.
    monkeypatch.setattr(export_module, "requirements_text", lambda folders: "numpy\n")
    target = tmp_path / "beside" / "out"
    repository = ModelRepository()
    old, new = (exported_models(of(repository, target, each)) for each in (OLD, NEW))
    of(repository, target, OLD)
    change(repository, NEW)
    lines = lines_of(lambda: export(repository, target), EXPORT)

    for number in range(1, lines + 1, step):
        # Whatever the last one left: nothing of it is foreign.
        assert old == exported_models(of(repository, target, OLD))
        change(repository, NEW)
        fault = LineFault(number, EXPORT, interrupt)
        with pytest.raises(KeyboardInterrupt):
            fault.during(lambda: export(repository, target))
        found = exported_models(target)
        assert old.keys() == found.keys(), fault.where
        assert found["m"] in (old["m"], new["m"]), fault.where
        assert [target] == list(target.parent.iterdir()), fault.where
        json.loads((target / MANIFEST).read_text())
    figures(interrupts=len(range(1, lines + 1, step)))
    repository.close()


def of(repository, target, files):
    """Export the model with files, and return where to."""
    change(repository, {"1/model.py": None, "2/deep/added.py": None} | files)
    if files is OLD:
        change(repository, {"2": None})
    export(repository, target)
    return target


def test_files_of_a_killed_export_are_known(tmp_path):
    """Files that differ from the expected ones are foreign."""
    repository = ModelRepository()
    with repository.changing("m", OLD):
        pass
    export(repository, tmp_path)
    (tmp_path / "m" / "1" / "model.py").write_text("theirs")
    document = json.loads((tmp_path / MANIFEST).read_text())
    document["expected"] = {"m/1/model.py": "another digest"}
    (tmp_path / MANIFEST).write_text(json.dumps(document))

    with pytest.raises(RepositoryError, match=r"m/1/model\.py .* not written by"):
        export(repository, tmp_path)
    repository.close()
