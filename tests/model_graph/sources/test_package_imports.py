"""Specification of how imports of files beside a model are followed."""

import pytest

from blsnb.model_graph.sources.bls_calls import bls_calls
from blsnb.model_graph.sources.possible import Evaluator
from blsnb.model_graph.sources.source_files import SourceFiles

REQUEST = "import triton_python_backend_utils as pb_utils\n"
ASK = (
    f"{REQUEST}def ask(name):\n    pb_utils.InferenceRequest(model_name=name).exec()\n"
)


def targets(folder, files):
    """Return the models that the files of a version call."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    found = SourceFiles(folder)
    sources = [found.source(path) for path in found.paths()]
    calls = [call for each in sources for call in bls_calls(each, Evaluator({}))]
    return [(*call.targets, call.undecided) for call in calls]


IMPORTS = {
    "a sibling": ("model.py", "from . import names", "names.NEXT"),
    "a sibling by another name": ("model.py", "from . import names as n", "n.NEXT"),
    "a member of a sibling": ("model.py", "from .names import NEXT", "NEXT"),
    "a member of the version": ("model.py", "from . import OWN", "OWN"),
    "a member of a package": ("model.py", "from .tools import INNER", "INNER"),
    "a package": ("model.py", "from . import tools", "tools.INNER"),
    "a file of a package": ("model.py", "from .tools import names", "names.DEEP"),
    "inside a package": ("tools/use.py", "from . import names", "names.DEEP"),
    "a member inside": ("tools/use.py", "from .names import DEEP", "DEEP"),
    "above a package": ("tools/use.py", "from .. import names", "names.NEXT"),
    "a member above": ("tools/use.py", "from ..names import NEXT", "NEXT"),
    "passed on by a package": ("model.py", "from tools import passed", "passed"),
    "an attribute passed on": ("model.py", "import tools", "tools.passed"),
    "a module passed on": ("model.py", "import tools", "tools.names.DEEP"),
    "a module by its path": ("model.py", "import tools.names", "tools.names.DEEP"),
    "the package of a path": ("model.py", "import tools.names", "tools.INNER"),
    "passed on twice": ("model.py", "from more import passed", "passed"),
    "by its full name": ("tools/use.py", "import names", "names.NEXT"),
}


@pytest.mark.parametrize("case", IMPORTS)
def test_an_import_is_followed_as_python_does(tmp_path, case):
    """Relative imports begin at the folder of their file."""
    path, line, name = IMPORTS[case]
    files = {
        "__init__.py": "OWN = 'child'",
        "names.py": "NEXT = 'child'\nDEEP = 'other'",
        "tools.py": "INNER = 'other'",
        "tools/__init__.py": "from .names import DEEP as passed\nINNER = 'child'",
        "more.py": "from tools import passed",
        "tools/names.py": "NEXT = 'other'\nDEEP = 'child'",
        path: f"{line}\n{REQUEST}pb_utils.InferenceRequest(model_name={name}).exec()",
    }

    assert [("child", "")] == targets(tmp_path, files)


@pytest.mark.parametrize(
    "line", ["from ... import names", "from .missing import names"]
)
def test_an_import_that_fails_is_not_followed(tmp_path, line):
    """The version's folder is the outermost package."""
    call = f"{REQUEST}pb_utils.InferenceRequest(model_name=names.NEXT).exec()"
    files = {"names.py": "NEXT = 'child'", "tools/use.py": f"{line}\n{call}"}

    assert [("names.NEXT",)] == targets(tmp_path, files)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from . import helper", "helper.ask"),
        ("import helper", "helper.ask"),
        ("import tools.ours", "tools.ours.call"),
        ("from tools.ours import call", "call"),
    ],
)
def test_a_function_of_an_imported_module_has_its_callers(tmp_path, line, name):
    """The call of the helper has the name that the model passes."""
    files = {
        "helper.py": ASK,
        "tools/ours.py": "from helper import ask as call",
        "model.py": f"{line}\n{name}('child')",
    }

    assert [("child", "")] == targets(tmp_path, files)


def test_imports_in_a_circle_end(tmp_path):
    """Python would report the name as missing."""
    call = f"{REQUEST}pb_utils.InferenceRequest(model_name=NEXT).exec()"
    files = {
        "a.py": "from b import NEXT",
        "b.py": "from a import NEXT",
        "model.py": f"from a import NEXT\n{call}",
    }

    assert [("NEXT",)] == targets(tmp_path, files)


def test_at_most_100_files_of_a_model_are_read(tmp_path):
    """The first ones in order of their paths; compiled files are left out."""
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.py").touch()
    names = [f"m{number:03}.py" for number in range(101)]
    for name in [*names, "a.pyc", "a.txt"]:
        (tmp_path / name).touch()

    assert names[:100] == SourceFiles(tmp_path).paths()


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_files_of_at_most_1_mib_are_read(tmp_path, more, is_read):
    """A larger one is data."""
    (tmp_path / "model.py").write_text("#" * ((1 << 20) - 1 + more) + "\n")

    assert is_read == (SourceFiles(tmp_path).source("model.py") is not None)
