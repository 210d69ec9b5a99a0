"""The type stubs are correct for mypy."""

import ast
import importlib.machinery
import os
import re
import subprocess
import sys
import zipfile

import pytest
from hatchling.builders.wheel import WheelBuilder

from blsnb.pb_utils.module import module

from .checked_sources import (
    NAMES,
    PLANTED,
    RIGHT,
    ROOT,
    STUBS,
    WRONG,
    planted,
    sample_models,
)

FLAGS = (
    "--config-file=",
    "--check-untyped-defs",
    "--warn-unreachable",
    "--ignore-missing-imports",
    "--disable-error-code=var-annotated",
)
STUBTEST = """
import sys
from mypy import stubtest
from blsnb.pb_utils.module import finder
finder.install()
sys.exit(stubtest.test_stubs(stubtest.parse_options(["--concise", *sys.argv[1:]])))
"""
_REQUEST = "c_python_backend_utils.InferenceRequest.__init__ is inconsistent, "
DELIBERATE = {
    # Python has no required parameter after one with a default: these refuse theirs.
    *(
        f'{_REQUEST}runtime parameter "{name}" has a default value but stub parameter '
        "does not"
        for name in ("inputs", "requested_output_names", "model_name")
    ),
    # Through an instance it does not fit, which no annotation can say.
    "c_python_backend_utils.Tensor.from_dlpack is inconsistent, stub is a staticmethod "
    "but runtime is not",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment in which a checker finds the stubs."""
    folder = tmp_path_factory.mktemp("path")
    for name in NAMES:
        (folder / name).symlink_to(STUBS / f"{name}-stubs")
    return {**os.environ, "MYPYPATH": str(folder)}


@pytest.fixture(scope="module")
def found(environment, tmp_path_factory):
    """Mypy's findings in all sources: name, line and message."""
    folder = tmp_path_factory.mktemp("models")
    failing = ROOT / "tests" / "repositories" / "failing" / "1" / "model.py"
    sources = sample_models() | {
        "planted": planted(),
        "failing": failing.read_text(encoding="utf-8"),
    }
    names = {f"sample_{number}": name for number, name in enumerate(sources)}
    for file, name in names.items():
        (folder / f"{file}.py").write_text(sources[name], encoding="utf-8")
    command = [sys.executable, "-m", "mypy", *FLAGS, "--cache-dir=cache", "."]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert "" == done.stderr
    rows = re.findall(r"^(\w+)\.py:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return {
        name: [(int(line), text) for where, line, text in rows if where == file]
        for file, name in names.items()
    }


@pytest.mark.parametrize("name", sample_models())
def test_a_correct_model_has_no_errors(found, name):
    """For models of the tests and of the notebooks."""
    assert [] == found[name]


@pytest.mark.parametrize("number", range(len(RIGHT)), ids=RIGHT)
def test_correct_calls_are_accepted(found, number):
    """Every form of call that the real module accepts."""
    line = PLANTED.count("\n") + 1 + number

    assert [] == [text for at, text in found["planted"] if at == line]


@pytest.mark.parametrize("number", range(len(WRONG)), ids=[row[0] for row in WRONG])
def test_a_mistake_is_found(found, number):
    """An unknown name, or an argument that the real module refuses."""
    line = PLANTED.count("\n") + 1 + len(RIGHT) + number
    texts = [text for at, text in found["planted"] if at == line]

    assert texts
    assert WRONG[number][1] in texts[0]


def test_mistakes_of_a_model_are_found(found):
    """A sample model has two."""
    texts = " ".join(text for _, text in found["failing"])

    assert "Exception must be derived from BaseException" in texts
    assert 'Argument 2 to "Tensor" has incompatible type "list[str]"' in texts


def test_the_stubs_and_the_module_agree(environment):
    """Every name and signature of the newest release, in both directions."""
    command = [sys.executable, "-c", STUBTEST, *NAMES]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    # Compiled classes have a class of their own, which no checker needs to know.
    lines = {
        line
        for line in done.stdout.splitlines()
        if not line.endswith("is inconsistent, metaclass differs")
    }

    assert "" == done.stderr
    assert sorted(DELIBERATE) == sorted(lines)


def test_the_stub_has_all_names_of_a_request():
    """Stubtest ignores inherited names, and the class is bound to an instance."""
    stub = ast.parse((STUBS / f"{NAMES[0]}-stubs" / "__init__.pyi").read_text())
    (request,) = (
        node
        for node in stub.body
        if isinstance(node, ast.ClassDef) and node.name == "InferenceRequest"
    )
    names = {node.name for node in request.body if isinstance(node, ast.FunctionDef)}
    kind = module.unbound_modules()[0].InferenceRequest

    assert names - {"__init__"} == {n for n in dir(kind) if not n.startswith("_")}


def test_no_stub_can_be_imported():
    """They never hide the real modules."""
    finders = importlib.machinery.PathFinder

    assert [None, None] == [finders.find_spec(name, [str(STUBS)]) for name in NAMES]


@pytest.mark.wheel
def test_the_wheel_carries_the_stubs(tmp_path):
    """They are packages beside blsnb."""
    (wheel,) = WheelBuilder(str(ROOT)).build(
        directory=str(tmp_path), versions=["standard"]
    )

    with zipfile.ZipFile(wheel) as archive:
        for name in NAMES:
            stub = f"{name}-stubs/__init__.pyi"
            assert (STUBS / stub).read_bytes() == archive.read(stub)


@pytest.mark.wheel
def test_an_editable_install_reads_the_stubs_where_they_are(tmp_path):
    """Checkers see edits."""
    (wheel,) = WheelBuilder(str(ROOT)).build(
        directory=str(tmp_path), versions=["editable"]
    )

    with zipfile.ZipFile(wheel) as archive:
        paths = archive.read("_blsnb.pth").decode().splitlines()
    assert [str(ROOT), str(STUBS)] == paths
