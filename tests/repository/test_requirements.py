"""The requirements.txt of models."""

from __future__ import annotations

import platform
from importlib.metadata import version

import pytest

from blsnb.repository import requirements
from blsnb.repository.requirements import requirements_text


def text_of(tmp_path, **sources):
    """The text for models of these sources."""
    for name, source in sources.items():
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "model.py").write_text(source)
    return requirements_text([tmp_path / name for name in sources])


def pins(text):
    """The lines that pip reads."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_imported_packages_are_pinned(tmp_path):
    """Each package is listed once with its installed version."""
    text = text_of(tmp_path, a="import numpy, IPython", b="import numpy.linalg")

    assert [f"ipython=={version('ipython')}", f"numpy=={version('numpy')}"] == pins(
        text
    )


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("from google.protobuf import text_format", "protobuf"),
        ("import typing_extensions", "typing_extensions"),
    ],
    ids=["folder", "file"],
)
def test_a_shared_name_is_resolved_by_files(tmp_path, monkeypatch, source, package):
    """Several packages have a part of a folder such as ``google``."""
    shared = {name: [package, "numpy"] for name in ("google", "typing_extensions")}
    monkeypatch.setattr(requirements.metadata, "packages_distributions", lambda: shared)
    text = text_of(tmp_path, a=source)

    assert [f"{package}=={version(package)}"] == pins(text)


def test_unknown_modules_are_listed(tmp_path):
    """The importing files are named."""
    text = text_of(tmp_path, a="import strange.part", b="import strange")

    assert (
        "# What the models of this folder import, in the versions that were in use "
        "when it was\n"
        f"# exported (Python {platform.python_version()}). Triton's own Python may be "
        "another release: where a pin\n"
        "# has no package for it, take the nearest one that has.\n\n"
        "# Imported, but of no installed package; add what holds it, or put its file "
        "beside the\n# model:\n# strange (a/1/model.py, b/1/model.py)\n"
    ) == text


@pytest.mark.parametrize(
    "source",
    [
        "print('numpy')",
        "print()('numpy')",
        "from . import numpy",
        "import_module('.numpy', 'a')",
        "__import__('')",
        "import_module(numpy)",
        "import triton_python_backend_utils, c_python_backend_utils",
        "if TYPE_CHECKING:\n    import numpy",
        "import (",
    ],
)
def test_other_code_imports_nothing(tmp_path, source):
    """Neither a name in a call, nor an import for type checkers."""
    text = text_of(tmp_path, a=source)

    assert text.endswith("take the nearest one that has.\n")
    assert 3 == len(text.splitlines())


def test_without_imports_there_is_nothing_to_install(tmp_path):
    """The empty file is valid for pip."""
    assert [] == pins(text_of(tmp_path, a="import os"))
