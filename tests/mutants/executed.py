"""The tests that execute each function, recorded in a copy of the checkout."""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .sampling import ROOT, Mutant

FILE = ROOT / "build" / "mutants" / "executed.json"
_UNCHECKED = 1
"""Flag of a compiled file that Python loads without a look at its source."""
_TEST = re.compile(r"([^:]+)(?:::(.*?))?(?:\[.*)? \((\w+)\)$", re.S)
_WITHOUT = ("--ignore=tests/browser", "--ignore=tests/mutants")
Def = ast.FunctionDef | ast.AsyncFunctionDef


def instrument(folder: Path) -> None:
    """Compile the package in a copy so that each function reports its calls."""
    shutil.copy(Path(__file__).with_name("calls.py"), folder / "blsnb_calls.py")
    for path in (folder / "blsnb").rglob("*.py"):
        tree = ast.parse(path.read_bytes())
        name = path.relative_to(folder).as_posix()
        for key, function in functions(tree, name):
            hit = ast.parse(f"__hit__({key!r})").body
            function.body[_begin(function) : _begin(function)] = hit
        begin = ast.parse("from blsnb_calls import hit as __hit__").body
        tree.body[_begin(tree) : _begin(tree)] = begin
        code = compile(tree, str(path), "exec", dont_inherit=True)
        compiled = Path(importlib.util.cache_from_source(str(path)))
        compiled.parent.mkdir(exist_ok=True)
        header = importlib.util.MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little")
        compiled.write_bytes(header + bytes(8) + marshal.dumps(code))


def _begin(node: ast.Module | Def) -> int:
    """Return the index of the first statement after a docstring and the future."""
    for index, each in enumerate(node.body):
        match each:
            case ast.Expr(ast.Constant(str())) | ast.ImportFrom("__future__"):
                continue
        return index
    return len(node.body)


def functions(tree: ast.AST, name: str) -> Iterator[tuple[str, Def]]:
    """Yield all functions of a source, each with its qualified name."""
    for child in ast.iter_child_nodes(tree):
        inner = name
        if isinstance(child, Def | ast.ClassDef):
            inner = f"{name}::{child.name}"
            if isinstance(child, Def):
                yield inner, child
        yield from functions(child, inner)


def record(folder: Path) -> None:
    """Run the tests of a copy that need no browser, and keep what each executes.

    A test that fails, as it looks at sources or times, was recorded until then.
    """
    instrument(folder)
    found = folder / "build" / "calls"
    found.mkdir(parents=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "BLSNB_HIDE_TRITON": "1",
        "BLSNB_CALLS": str(found),
    }
    # To rewrite assertions pytest would compile the package itself.
    command = [sys.executable, "-m", "pytest", "--assert=plain", "-p", "blsnb_calls"]
    chosen = [*("-q", "-n2", "--tb=line", "-m", "not slow"), *_WITHOUT]
    subprocess.run([*command, *chosen], cwd=folder, env=environment)
    executed = defaultdict[str, set[str]](set)
    for path in found.iterdir():
        for key, test in lines_of(path):
            executed[key].add(test)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    rows = {key: sorted(each) for key, each in sorted(executed.items())}
    FILE.write_text(json.dumps(rows, indent=0), encoding="utf-8")


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield functions, each with the test, or with the file whose set-up ran it."""
    test = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            match = _TEST.match(line[1:])
            file, name, phase = match.groups() if match else ("", "", "")
            test = f"{file}::{name}" if phase == "call" else file
        elif test:
            yield line, test


def recorded_tests(mutant: Mutant) -> list[str]:
    """Return the recorded tests, or whole files, that execute what an edit changes."""
    known = recorded()
    found = {test for key in executing(mutant) for test in known.get(key, ())}
    return sorted(
        test
        for test in found
        if "::" not in test or test.partition("::")[0] not in found
    )


@functools.cache
def recorded() -> dict[str, list[str]]:
    """Return the tests of each function."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def executing(mutant: Mutant) -> set[str]:
    """Return the function of an edit; for a value of a module, all that may use it.

    These are the functions of its file, and those elsewhere that mention its name.
    """
    path = mutant.path
    source = (ROOT / path).read_text(encoding="utf-8")
    line = source.count("\n", 0, mutant.edit.start) + 1
    tree = ast.parse(source)
    around = [
        key
        for key, function in functions(tree, path)
        if function.lineno <= line <= (function.end_lineno or 0)
    ]
    if around:
        return {around[-1]}
    names = {
        name
        for statement in tree.body
        if statement.lineno <= line <= (statement.end_lineno or 0)
        for name in _assigned(statement)
    }
    return {key for key, _ in functions(tree, path)} | set(_mentioning(names))


def _assigned(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
            return [name]
        case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
            return [name]
    return []


def _mentioning(names: set[str]) -> Iterator[str]:
    if not names:
        return
    word = re.compile(rf"\b(?:{'|'.join(names)})\b")
    for file in (ROOT / "blsnb").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if word.search(source):
            name = file.relative_to(ROOT).as_posix()
            for key, function in functions(ast.parse(source), name):
                if word.search(ast.get_source_segment(source, function) or ""):
                    yield key
