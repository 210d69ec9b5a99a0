"""The docstrings of the public API are complete."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import blsnb
from blsnb.benchmark.bench import Bench
from blsnb.dashboard.monitor import Monitor
from blsnb.results.comparison import Comparison
from blsnb.results.response_stream import Stream
from blsnb.serving import Endpoints, serve
from blsnb.testing import ReplayError, TestedServer

CLASSES = [
    blsnb.Server,
    blsnb.Run,
    blsnb.Response,
    Stream,
    Comparison,
    Bench,
    Monitor,
    Endpoints,
    TestedServer,
    ReplayError,
    *(
        each
        for each in vars(blsnb).values()
        if isinstance(each, type) and issubclass(each, blsnb.BlsnbError)
    ),
]
# Only IPython calls them.
HOOKS = {"load_ipython_extension", "unload_ipython_extension"}
ROOT = Path(__file__).parents[1]
OF_OTHERS = {"self", "cls", "args", "kwargs"}
"""Arguments that Python passes."""


def methods_of(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods that a class defines."""
    for name, value in vars(kind).items():
        method = getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(method):
            yield f"{kind.__name__}.{name}", method


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(blsnb, name)
        for name in blsnb.__all__
        if inspect.isfunction(getattr(blsnb, name)) and name not in HOOKS
    },
    "serve": serve,
    **dict(pair for kind in CLASSES for pair in methods_of(kind)),
}


def section(text: str, title: str) -> list[str]:
    """Return the names that a section of a NumPy docstring lists."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", text, re.M | re.S)
    lines = found[1].split("\n") if found else []
    heads = [line for line in lines if line and not line.startswith(" ")]
    return [name.strip("* ") for head in heads for name in head.split(",")]


def arguments(function: Callable[..., Any]) -> set[str]:
    """Return the names of a function's own parameters."""
    return set(inspect.signature(function).parameters) - OF_OTHERS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_public_function_is_documented(name):
    """And no other; those of a request are documented wherever it is taken."""
    function = FUNCTIONS[name]
    documented = section(inspect.getdoc(function) or "", "Parameters")

    assert arguments(function) == set(documented) - OF_OTHERS
    assert len(set(documented)) == len(documented)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_parameter_of_a_public_class_is_documented(kind):
    """The docstring of the class, or of the class that takes it, documents it."""
    holder = next(each for each in kind.__mro__ if "__init__" in vars(each))
    if not inspect.isfunction(holder.__init__):
        return
    documented = section(inspect.getdoc(holder) or "", "Parameters")

    assert arguments(holder) - {"settings"} <= set(documented) | hidden(holder)


def hidden(kind: type) -> set[str]:
    """Return parameters of classes that users never construct."""
    names = {
        "Run": {"record"},
        "Endpoints": {"parts", "host", "access", "unix_sockets", "options"},
    }
    return names.get(kind.__name__, set())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_documented_error_can_be_imported(name):
    """It is in `blsnb`, or is one of Python's own."""
    raised = section(inspect.getdoc(FUNCTIONS[name]) or "", "Raises")

    known = {*vars(builtins), *blsnb.__all__, "ReplayError", "StopIteration"}
    assert set() == set(raised) - known


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_begins_with_one_sentence(name):
    """The first line is a sentence, imperative for functions."""
    first, *rest = (inspect.getdoc(FUNCTIONS[name]) or "").split("\n")

    assert first.endswith(".")
    assert first[0].isupper()
    assert not rest or not rest[0]


def test_no_module_begins_with_a_title():
    """It says what the file is for; its name is above it anyway."""
    titled = [
        path.relative_to(ROOT).as_posix()
        for folder in ("blsnb", "tests", "benchmarks")
        for path in ROOT.joinpath(folder).rglob("*.py")
        if re.match(r'"""\w+: ', path.read_text("utf-8", errors="replace"))
    ]

    assert [] == titled
