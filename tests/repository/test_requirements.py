"""The requirements.txt of models."""

from __future__ import annotations

from importlib.metadata import version

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


def test_what_is_imported_is_pinned(tmp_path):
    """Once, by the name of its package, in the version that is installed."""
    text = text_of(tmp_path, a="import numpy, IPython", b="import numpy.linalg")

    assert [f"ipython=={version('ipython')}", f"numpy=={version('numpy')}"] == pins(
        text
    )


def test_a_shared_name_is_told_by_the_files_of_its_packages(tmp_path, monkeypatch):
    """A folder such as ``google`` is that of many, each with a part of it."""
    shared = {"google": ["protobuf", "numpy"]}
    monkeypatch.setattr(requirements.metadata, "packages_distributions", lambda: shared)
    text = text_of(tmp_path, a="from google.protobuf import text_format")

    assert [f"protobuf=={version('protobuf')}"] == pins(text)


def test_what_no_package_has_is_said(tmp_path):
    """With the files that import it."""
    text = text_of(tmp_path, a="import strange.part", b="import strange")

    assert [] == pins(text)
    assert "# strange (a/1/model.py, b/1/model.py)" in text.splitlines()


def test_without_imports_there_is_nothing_to_install(tmp_path):
    """Pip reads the text all the same."""
    assert [] == pins(text_of(tmp_path, a="import os"))
