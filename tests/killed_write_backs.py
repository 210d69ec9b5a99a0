"""Exports in place that are killed at chosen lines, each in a process of its own.

As a program it imports a repository, changes its models, and kills exports in place:
see `run`.
"""

from __future__ import annotations

import functools
import shutil
import sys
from pathlib import Path

from faults import FILES, chosen_lines, functions_of, killed, printed_by
from killed_exports import TWO_STEPS, State, state

from blsnb.files import swap
from blsnb.repository.imported.write_back import ChangedModel, write_back
from blsnb.repository.repository import ModelRepository

WATCHED = (
    *FILES,
    "repository/imported/in_place.py",
    "repository/imported/write_back.py",
)
OLD = {
    "a/config.pbtxt": "old a",
    "a/1/model.py": "old a",
    "a/1/gone.py": "old",
    "b/config.pbtxt": "old b",
    "b/1/model.py": "b",
    "README.md": "foreign",
}
CHANGES: dict[str, dict[str, str | None]] = {
    "a": {"1/model.py": "new a", "2/parts/helper.py": "new", "1/gone.py": None},
    "b": {"config.pbtxt": "new b"},
}


def write_old(root: Path) -> None:
    """Write the user's repository."""
    shutil.rmtree(root, ignore_errors=True)
    for path, text in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def opened(root: Path) -> tuple[ModelRepository, list[ChangedModel]]:
    """Import the repository and change its models; return the changes."""
    repository = ModelRepository([root])
    found = []
    for name, files in CHANGES.items():
        with repository.changing(name, files):
            pass
        derived = repository.derivations.get(name)
        assert derived is not None
        found.append(ChangedModel(name, "cell", derived, derived.edits()))
    return repository, found


def written(root: Path) -> tuple[State, State]:
    """Return the repository before and after an export that is not killed."""
    write_old(root)
    before = state(root)
    repository, models = opened(root)
    write_back(models)
    repository.close()
    return before, state(root)


def main(root: Path, how: str, step: int) -> None:
    """Kill exports, check the files, and print the lines."""
    if how == TWO_STEPS:
        swap._renameat2 = lambda: None  # type: ignore[assignment]
    before, after = written(root)
    write_old(root)
    repository, models = opened(root)
    lines = functions_of(lambda: write_back(models), WATCHED)
    repository.close()
    for number in chosen_lines(lines, step):
        write_old(root)
        repository, models = opened(root)
        where = killed(functools.partial(write_back, models), WATCHED, number)
        print(number, where, flush=True)
        repository.close()
        # The next import completes or undoes what was killed.
        ModelRepository([root]).close()
        assert state(root) in (before, after), (where, state(root))
        repository, models = opened(root)
        write_back([model for model in models if model.edits])
        repository.close()
        assert after == state(root), where
    print(f"of {len(lines)} lines")


def run(root: Path, how: str, step: int) -> str:
    """Run this file as a program that kills at every `step`-th line and each swap."""
    return printed_by(__file__, root, how, step)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
