"""The tests of an edited file, nearest first."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dealing import TOGETHER

from .executed import recorded_tests
from .executed_view import node, view_tests_of
from .sampling import ROOT, Mutant

PYTEST = ["-x", "-q", "-n0", "-m", "not slow", "--tb=line"]
ASIDE = ("browser", "conformance", "mutants")
"""Folders in `tests/` that are not rooms."""
BESIDE = ["env", "-u", "BLSNB_HIDE_TRITON", f"BLSNB_TRITON={ROOT / '.triton'}"]
"""The beginning of a command whose tests run beside a real server."""
OF_SERVERS = ("backends", "parity", "planning", "recorder")
"""Rooms with code that only runs in a real server, or beside one."""
Command = list[str]


class Stage(NamedTuple):
    """A set of tests."""

    name: str
    commands: list[Command]
    near: bool


def stages(mutant: Mutant) -> Iterator[Stage]:
    """Yield sets of tests, those of the file first; each is run once."""
    if mutant.path.endswith(".ts"):
        yield from _of_typescript(mutant)
    else:
        yield from _of_python(mutant)


def _of_python(mutant: Mutant) -> Iterator[Stage]:
    own = naming(mutant.path)
    if own:
        yield Stage("its own tests", [_pytest(*own)], near=True)
    rooms = defaultdict[str, list[str]](list)
    for test in existing(recorded_tests(mutant)):
        file = test.partition("::")[0]
        if file not in own:
            rooms["/".join(file.split("/")[:-1][:2])].append(test)
    home = f"tests/{mutant.path.split('/')[1]}"
    for room in sorted(rooms, key=lambda each: (each != home, each)):
        yield Stage(room, [_pytest(*rooms[room])], near=True)
    yield Stage("types", [[sys.executable, "-m", "mypy"]], near=True)
    if Path(home).name in OF_SERVERS:
        yield Stage("a real server", [[*BESIDE, *_pytest(home)]], near=False)


def existing(tests: Iterable[str]) -> Iterator[str]:
    """Yield the recorded tests that still exist."""
    for test in tests:
        file, name, *_ = [*test.split("::"), ""]
        path = ROOT / file
        if path.exists() and name in path.read_text(encoding="utf-8"):
            yield test


def naming(path: str) -> list[str]:
    """Return test files of the room with the file's name, or that import it."""
    parts = Path(path).with_suffix("").parts
    package, name = ".".join(parts[:-1]), parts[-1]
    texts = (".".join(parts), f"from {package} import {name}\n")
    room = ROOT / "tests" / parts[1]
    found = [
        each
        for each in (room if room.is_dir() else ROOT / "tests").rglob("test_*.py")
        if not {*ASIDE} & {*each.relative_to(ROOT).parts}
        and (
            each.stem == f"test_{name}"
            or any(text in each.read_text(encoding="utf-8") for text in texts)
        )
    ]
    return sorted(each.relative_to(ROOT).as_posix() for each in found)


def _but(ignored: list[str]) -> list[str]:
    return [f"--ignore={each}" for each in ignored]


def _pytest(*arguments: str) -> Command:
    return [sys.executable, "-m", "pytest", *PYTEST, *arguments]


def _files(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def build() -> list[str]:
    """Return the command that builds the view and the panel, as `make js` does."""
    return [node(), "js/build.mjs"]


def _of_typescript(mutant: Mutant) -> Iterator[Stage]:
    run = [node(), "--test"]
    name = Path(mutant.path).relative_to("js/src").as_posix()
    named = [
        each
        for each in _files("js/test/*.test.ts")
        if f'/{name}"' in (ROOT / each).read_text(encoding="utf-8")
    ]
    if named:
        yield Stage("its own tests", [[*run, *named]], near=True)
    others = [each for each in view_tests_of(mutant) if each not in named]
    if others:
        yield Stage("js/test", [[*run, *others]], near=True)
    types = [node(), "js/node_modules/typescript/lib/tsc.js", "--noEmit"]
    yield Stage("types", [[*types, "-p", "js"]], near=True)
    lab = [each for each in TOGETHER if each.endswith(".py")]
    shared = [build(), _pytest("tests/browser", *_but(lab))]
    yield Stage("tests/browser", shared, near=False)
    yield Stage("Jupyter", [build(), _pytest(*lab)], near=False)
