"""Specification of the contracts of rooms and libraries."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import blsnb
from benchmarks import structure
from benchmarks.structure.imports import (
    Imports,
    file_imports,
    module_name,
    read_imports,
)
from benchmarks.structure.measure import broken_contracts
from benchmarks.structure.rooms import (
    Rooms,
    import_violations,
    library_violations,
    reach_violations,
)
from benchmarks.structure.source import SourceFile, read_package

from .trees import imports

LIMITS = tomllib.loads(
    (Path(structure.__file__).parent / "limits.toml").read_text(encoding="utf-8")
)
FILES = read_package(Path(blsnb.__file__).parent)
MODULES = {module_name("blsnb", path): path for path in FILES}
ORDER = [["top"], ["left", "right"], ["left/inner"], ["ground"]]
TREE = {
    "top.py": "import house.left.a",
    "left/a.py": "import house.left.inner.b",
    "left/inner/b.py": "import house.ground",
    "right.py": "import house.ground",
    "ground.py": "import numpy",
}
TYPING = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {}"


def broken(order=ORDER, **texts):
    """Return the violations of a tree with changed files."""
    changed = TREE | {f"{name}.py": text for name, text in texts.items()}
    return list(import_violations(Rooms(order), imports(changed), list(changed)))


def test_imports_that_go_down_are_allowed():
    """They may skip rows."""
    assert [] == broken(top="import house.ground")


@pytest.mark.parametrize("text", ["import house.top", TYPING.format("house.top")])
def test_an_import_that_goes_up_is_a_violation(text):
    """Imports for type checking count, too."""
    sentences = broken(ground=text)

    assert 1 == len(sentences)
    assert "ground.py" in sentences[0]
    assert "'top'" in sentences[0]


def test_rooms_in_one_row_do_not_import_each_other():
    """Neither direction is allowed."""
    assert 1 == len(broken(right="import house.left.a"))


def test_a_room_inside_another_has_a_row_of_its_own():
    """A file belongs to the room with the longest path."""
    rooms = Rooms(ORDER)

    assert "left" == rooms.of("left/a.py")
    assert "left/inner" == rooms.of("left/inner/b.py")
    assert None is rooms.of("leftover.py")


def test_every_file_has_a_room():
    """A new room needs a row."""
    assert ["new.py belongs to no room: add its room to rooms.order."] == broken(new="")


def test_every_room_has_a_file():
    """A removed room is removed from its row."""
    sentences = broken([*ORDER, ["cellar"]])

    assert ["Room 'cellar' of rooms.order has no file: remove it there."] == sentences


def test_a_forbidden_room_is_not_reached_through_others():
    """The violation shows the path."""
    sentences = list(reach_violations(imports(TREE), {"top": ["right", "ground"]}))

    assert [
        "top.py -> left/a.py -> left/inner/b.py -> ground.py: "
        "'top' must not reach right, ground."
    ] == sentences


def test_a_library_in_another_room_is_a_violation():
    """A library's row contains rooms and files."""
    met = imports(TREE)

    assert [] == list(library_violations(met, {"numpy": ["ground"]}))
    assert [
        "ground.py:1 -> numpy (on import): numpy may be imported only in top."
    ] == list(library_violations(imports(TREE), {"numpy": ["top"]}))[:1]


def test_each_library_has_a_row():
    """Most modules of Python are exempt."""
    sentences = list(library_violations(imports({"a.py": "import numpy, os"}), {}))

    assert 1 == len(sentences)
    assert "add the library" in sentences[0]


def test_a_library_unused_by_a_room_is_a_violation():
    """The room is removed from the library's row."""
    places = {"numpy": ["ground", "top"]}

    assert ["numpy is not imported in top: remove it in [libraries]."] == list(
        library_violations(imports(TREE), places)
    )


@pytest.fixture(scope="module")
def whole():
    """All imports of blsnb."""
    return read_imports("blsnb", FILES)


def test_blsnb_keeps_its_contracts(whole):
    """Imports go down, and each library is imported in its rooms only."""
    assert [] == broken_contracts(whole, list(FILES), LIMITS)


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("model/config.py", "import IPython"),
        ("command/serve.py", "import IPython.display"),
        ("engine/engine.py", "import anywidget"),
        ("magics/show.py", "import anywidget"),
        ("tensors/ref.py", "import cupy"),
        ("runtimes/host.py", "import cupy"),
        ("engine/scheduling/batching/batch.py", "import threading"),
        ("views/documents/wire.py", "import asyncio"),
        ("trace/spans.py", "import concurrent.futures"),
        ("magics/show.py", "import queue"),
        ("serving/core/wire.py", "import grpc"),
        ("serving/http/routes.py", "import tritonclient.grpc"),
        ("serving/grpc/service.py", "import tornado"),
        ("serving/endpoints.py", "import tornado.httpserver"),
        ("serving/grpc/service.py", "import blsnb.serving.http.routes"),
        ("serving/core/wire.py", "import blsnb.serving.grpc.service"),
        ("views/documents/wire.py", "import blsnb.repository.status"),
        ("views/documents/wire.py", "import blsnb.model.config"),
        ("trace/spans.py", "import blsnb.pb_utils.compiled.errors"),
        ("trace/recorder.py", "import blsnb.model.config"),
        ("tensors/ref.py", "import blsnb.engine.engine"),
        ("errors.py", "import blsnb.options"),
    ],
)
def test_blsnb_has_a_contract_against(path, statement, whole):
    """The import is a violation, also for type checking."""
    for text in (statement, TYPING.format(statement.removeprefix("import "))):
        more = file_imports(SourceFile(path, text), "blsnb", MODULES)
        imports = Imports(
            whole.internal + more.internal, whole.external + more.external
        )

        assert any(path in each for each in broken_contracts(imports, [*FILES], LIMITS))
