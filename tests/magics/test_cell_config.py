"""What ``--config`` may name, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from cells import CONFIG
from IPython.core.error import UsageError
from whole_text import whole

from blsnb.magics.cell_config import configuration_text
from blsnb.model.config import parse_pbtxt


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file with a configuration and a comment that is not UTF-8, at home."""
    file = tmp_path / "m.pbtxt"
    file.write_bytes(b"# \xe9\n" + CONFIG.encode())
    monkeypatch.setenv("HOME", str(tmp_path))
    return file


def test_a_configuration_is_that_of_a_variable_or_of_a_file(file):
    """A variable has a text, a path, or the configuration of a model."""
    found = parse_pbtxt(CONFIG)
    names = {"text": CONFIG, "path": file, "found": found}
    text = file.read_bytes().decode("utf-8", "surrogateescape")

    assert [CONFIG, text, text, text, found.to_pbtxt()] == [
        configuration_text(given, names)
        for given in ("text", "path", str(file), "~/m.pbtxt", "found")
    ]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("nowhere", "there is no variable and no file of that name"),
        ("gone", "there is no variable and no file of that name"),
        (
            "number",
            "the variable holds a int, not the text of a config.pbtxt or a path to one",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(given, text):
    """The sentence has the word of the line."""
    names = {"number": 3, "gone": Path("nowhere")}

    with pytest.raises(UsageError, match=whole(f"--config {given}: {text}")):
        configuration_text(given, names)
