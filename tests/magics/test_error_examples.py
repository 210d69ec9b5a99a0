"""Each entry of the catalogues of errors and notes has an example that gives it."""

from __future__ import annotations

import re

import pytest

from .pages import entries, run


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.text[:40])
def test_an_example_gives_the_text_of_its_entry(
    entry, notebook, settings, tmp_path, monkeypatch
):
    """It runs alone, after the models of its page."""
    monkeypatch.chdir(tmp_path)
    text = ".*?".join(map(re.escape, entry.text.split("…")))

    assert entry.example
    assert re.search(text, run(notebook, [*entry.shared, *entry.example]), re.DOTALL)
