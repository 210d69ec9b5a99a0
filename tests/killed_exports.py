"""Exports that are killed at chosen lines, each in a process of its own.

As a program it exports models to a folder, changes them, and kills exports of the
changed models: see `run`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from faults import FILES, chosen_lines, functions_of, killed, printed_by

from blsnb.files import swap
from blsnb.repository import export as export_module
from blsnb.repository.export import Export, exportable
from blsnb.repository.repository import ModelRepository

MODELS = ("a", "b")
WATCHED = (
    *FILES,
    *(f"repository/{each}.py" for each in ("copying", "export", "manifest")),
)
TWO_STEPS = "two steps"
SOURCE = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        value = np.array([{value}], np.float32)
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("Y", value)]) for _ in requests
        ]
"""
CONFIG = """
backend: "python"
input {{ name: "X" data_type: TYPE_FP32 dims: [ 1 ] }}
output {{ name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }}
parameters {{ key: "value" value {{ string_value: "{value}" }} }}
"""
OLD, NEW = 1, 2
State = dict[str, bytes | None]


def files(value: int) -> dict[str, str | None]:
    """Return the files of a model that answers with a value."""
    extra: dict[str, str | None] = {"1/sub/old.py": "old", "1/sub/new.py": None}
    if value == NEW:
        extra: dict[str, str | None] = {"1/sub/old.py": None, "1/sub/new.py": "new"}
    return {
        "1/model.py": SOURCE.format(value=value),
        "config.pbtxt": CONFIG.format(value=value),
        **extra,
    }


def state(folder: Path) -> State:
    """Return everything below a folder; None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
    }


def define(repository: ModelRepository, value: int) -> None:
    """Define all models so that they return a value."""
    for name in MODELS:
        with repository.changing(name, files(value)):
            pass


def export(repository: ModelRepository, target: Path) -> None:
    """Export all models."""
    chosen, notes = exportable(repository)
    Export(target, (24, 10)).write(chosen, notes)


class Rounds:
    """Exports that are killed one after the other, and the checks after each.

    Parameters
    ----------
    target
        The folder; the files beside it are checked, too.
    how
        ``"exchange"``, or ``"two steps"`` for a system that cannot exchange folders.
    """

    def __init__(self, target: Path, how: str) -> None:
        self._target = target
        self._how = how
        if how == TWO_STEPS:
            swap._renameat2 = lambda: None  # type: ignore[assignment]
        # Looking for packages takes long, and writes nothing.
        export_module.requirements_text = lambda folders: "numpy\n"
        self._repository = ModelRepository()
        self._old, self._new = (self._exported(value) for value in (OLD, NEW))

    def _exported(self, value: int) -> State:
        define(self._repository, value)
        export(self._repository, self._target)
        return state(self._target)

    def _export(self) -> None:
        export(self._repository, self._target)

    def lines(self) -> list[str]:
        """Return the functions of the lines that an export executes."""
        assert self._old == self._exported(OLD)
        define(self._repository, NEW)
        return functions_of(self._export, WATCHED)

    def kill(self, number: int) -> str:
        """Kill an export before a line; return which, empty if there are fewer."""
        assert self._old == self._exported(OLD)
        define(self._repository, NEW)
        return killed(self._export, WATCHED, number)

    def check(self) -> None:
        """Check that all models are whole, and that the next export completes them."""
        if self._how == TWO_STEPS:
            # Only an import or an export can complete what is cut off in between.
            ModelRepository([self._target]).close()
        folders = {each.name for each in self._target.iterdir() if each.is_dir()}
        assert set(MODELS) == folders, folders
        for name in MODELS:
            assert self._part(state(self._target), name) in (
                self._part(self._old, name),
                self._part(self._new, name),
            ), name
        export(self._repository, self._target)
        assert self._new == state(self._target)
        assert [self._target] == list(self._target.parent.iterdir())

    def _part(self, whole: State, name: str) -> State:
        return {p: held for p, held in whole.items() if p.split("/")[0] == name}

    def close(self) -> None:
        """Close the repository."""
        self._repository.close()


def run(target: Path, how: str, *, step: int = 0, share: float = 0.0) -> str:
    """Run this file as a program, and return what it prints.

    Parameters
    ----------
    step
        Kill an export at every `step`-th line, and at each of a swap; check the files
        after each.
    share
        Without a step: kill one after this share of its lines, and leave all as it is.
    """
    return printed_by(__file__, target, how, step, share)


def main(target: Path, how: str, step: int, share: float) -> None:
    """Kill exports, check the files, and print the lines."""
    rounds = Rounds(target, how)
    lines = rounds.lines()
    numbers = chosen_lines(lines, step) if step else [1 + int(share * len(lines))]
    for number in numbers:
        print(number, rounds.kill(number), flush=True)
        if step:
            rounds.check()
    print(f"of {len(lines)} lines")
    rounds.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
