"""A file of a model that an editor changed is in service before the next cell runs."""

from __future__ import annotations

import os

import pytest

from blsnb.magics import default_server as default
from blsnb.parts.server_parts import parts_of

from .models import DOUBLE


@pytest.fixture
def model(notebook):
    """The file of a model that doubles, and the notebook."""
    notebook.run(DOUBLE)
    root = parts_of(default.server()).repository.private_root
    return root / "double" / "1" / "model.py", notebook


def save(file, text):
    """Write a file with a later modification time."""
    later_ns = file.stat().st_mtime_ns + 1_000_000_000
    file.write_text(text)
    os.utime(file, ns=(later_ns, later_ns))


def test_a_changed_file_is_loaded_and_shown(model):
    """It is loaded once, before the next cell runs."""
    file, notebook = model
    save(file, file.read_text().replace("* 2", "* 3"))
    ran = notebook.run("%triton infer double X=[1.0]")

    assert [3.0] == ran.value["Y"].tolist()
    assert ran.texts[0].startswith("double version 1 READY")
    assert [] == notebook.run("1 == 1").texts[1:]


def test_one_that_does_not_load_is_shown_with_the_reason(model):
    """The former version still serves, and the cell runs."""
    file, notebook = model
    save(file, "1 / 0")
    ran = notebook.run("%triton infer double X=[1.0]")

    assert [2.0] == ran.value["Y"].tolist()
    assert "its changed files do not load: Internal: ZeroDivisionError" in ran.texts[0]
    assert "the previous version still serves" in ran.texts[0]
    assert 1 == len(notebook.run("%triton infer double X=[1.0]").outputs)


def test_only_failures_are_shown_with_display_off(model, settings):
    """Failed reloads are still shown."""
    file, notebook = model
    settings.show = False
    save(file, file.read_text().replace("* 2", "* 3"))
    assert [] == notebook.run("pass").outputs
    save(file, "1 / 0")
    assert 1 == len(notebook.run("pass").outputs)


def test_without_a_server_no_files_are_examined(notebook):
    """No server is made for it."""
    notebook.run("pass")
    assert default.started() is None

    notebook.run(DOUBLE)
    default.server().close()
    assert notebook.run("pass").error is None
