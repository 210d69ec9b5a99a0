"""The package as users install it: built as a wheel, in an environment of its own."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.wheel

SMOKE = '''
import base64, gzip, json, re
import blsnb
from blsnb.views.documents import document

MODEL = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [self.double(request) for request in requests]

    def double(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x * 2)])
"""
CONFIG = """
input [{ name: "X" data_type: TYPE_FP32 dims: [-1] }]
output [{ name: "Y" data_type: TYPE_FP32 dims: [-1] }]
"""
with blsnb.Server() as server:
    server.define("double", MODEL, config=CONFIG)
    run = server.infer("double", {"X": [1, 2, 3]})
page = document.html(run.trace)
packed = re.search(r'const own = "([^"]+)"', page)[1]
letters = packed.translate({118: 92, 119: 34, 120: 38, 121: 60})
print(json.dumps({
    "home": blsnb.__file__,
    "answer": run["Y"].tolist(),
    "view": gzip.decompress(base64.a85decode(letters)).decode(),
}))
'''


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel, built with the installed tools."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Return the Python of an environment that has the wheel and not the checkout."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, symlinks=True)
    own = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", own, "install", "--no-deps"]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    # What blsnb depends on is borrowed: a path in a .pth file is searched, but the
    # .pth files there, of which one leads to the checkout, are not read.
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return own


@pytest.fixture(scope="module")
def result(python, tmp_path_factory):
    """Return the output of a script that uses the installed package elsewhere."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-W", "error", "-c", SMOKE],
        cwd=tmp_path_factory.mktemp("far"),
        env=variables,
        capture_output=True,
        text=True,
    )
    assert "" == done.stderr
    return json.loads(done.stdout)


def test_the_installed_package_is_imported(result, python):
    """Outside the checkout nothing of the checkout is used."""
    assert Path(result["home"]).is_relative_to(python.parents[1])


def test_a_model_answers(result):
    """A model defined with the installed package works as in the checkout."""
    assert [2, 4, 6] == result["answer"]


def test_a_document_brings_the_view(result):
    """The view's JavaScript is in the wheel, and in the documents that it writes."""
    view = ROOT / "blsnb" / "views" / "static" / "view.min.js"

    assert view.read_text(encoding="utf-8") == result["view"]


def test_the_wheel_has_the_type_marker(python):
    """Type checkers use the package's annotations."""
    (marker,) = python.parents[1].glob("lib/python*/site-packages/blsnb/py.typed")

    assert marker.is_file()


def test_jupyter_finds_the_panel(python):
    """The file that the panel's package names is beside it."""
    panel = python.parents[1] / "share" / "jupyter" / "labextensions" / "blsnb"
    package = json.loads((panel / "package.json").read_text(encoding="utf-8"))
    entry = package["jupyterlab"]["_build"]["load"]
    checkout = ROOT / "blsnb" / "panel" / "labextension" / entry

    assert checkout.read_bytes() == (panel / entry).read_bytes()


def _run(folder, *words):
    """Run a program of the environment outside of the checkout; return its output."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=variables, capture_output=True, text=True
    )
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    return done.stdout


def test_the_command_brings_the_notebooks(python, tmp_path):
    """The wheel has all notebooks of the checkout, and nothing else of that folder."""
    command = python.parent / "blsnb"
    assert _run(tmp_path, command, "--version").startswith("blsnb ")
    copy = "from blsnb.magics.commands.tutorial import *; copy_notebooks(Path('mine'))"
    _run(tmp_path, python, "-W", "error", "-c", copy)

    there = {path.name for path in (tmp_path / "mine").iterdir()}
    assert {path.name for path in (ROOT / "notebooks").glob("*.ipynb")} == there
    packaged = python.parents[1].glob("lib/python*/site-packages/blsnb/notebooks/*")
    assert there == {path.name for path in packaged}


def test_pytest_finds_the_plugin(python, tmp_path):
    """Its assertions are rewritten, and it causes no warning."""
    test = "def test_it(triton_server):\n    assert [] == triton_server.models()\n"
    (tmp_path / "test_it.py").write_text(test)
    options = ["-W", "error", "-p", "no:cacheprovider", "-q"]

    assert "1 passed" in _run(tmp_path, python, "-m", "pytest", *options)
