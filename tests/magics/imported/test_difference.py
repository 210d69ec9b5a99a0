"""Specification of the differences between cells and folders."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from reviewed import reviewed

from blsnb.magics.imported.difference import bundle
from blsnb.repository.imported.derived import Edit
from blsnb.repository.imported.write_back import ChangedModel


@pytest.fixture
def changed(tmp_path):
    """Return a function that makes a changed model of the texts of its files."""

    def make(name="m", **files):
        edits = []
        for file, texts in files.items():
            paths = [tmp_path / f"{file}-{side}" for side in ("base", "cell", "folder")]
            for path, text in zip(paths, texts, strict=True):
                path.write_text(text)
            edits.append(Edit(f"1/{file}.py", *paths))
        derived = SimpleNamespace(folder="models/m")
        return ChangedModel(name, "cell In[3]", derived, edits)

    return make


def test_a_change_of_a_cell_is_a_difference_from_the_folder(changed):
    """Tabs are indentation, other control characters are shown."""
    model = changed(model=("a\n", "\tb\x1b\n", "a\n"))

    assert [
        "m: cell In[3] against models/m",
        "--- m/1/model.py (folder)",
        "+++ m/1/model.py (cell In[3])",
        "@@ -1 +1 @@",
        "-a",
        "+   b␛",
    ] == bundle([model])["text/plain"].splitlines()


def test_files_that_changed_on_both_sides_are_named_first(changed):
    """Each has both differences."""
    model = changed(
        one=("a\n", "b\n", "c\n"),
        two=("d\n", "e\n", "d\n"),
        three=("f\n", "g\n", "h\n"),
    )
    _, warning, *lines = bundle([model])["text/plain"].splitlines()

    assert "⚠ changed in the folder, too: 1/one.py, 1/three.py" == warning
    assert ["-a", "+c", "-a", "+b", "-d", "+e", "-f", "+h", "-f", "+g"] == [
        line for line in lines if line[1:2].isalpha()
    ]


def test_models_are_parts_of_one_page(changed):
    """The first characters of a line decide on its colour."""
    shown = bundle([changed("m", model=("a\n", "<b>\n", "a\n")), changed("n")])
    page = shown["text/html"]

    assert shown["text/plain"].endswith("\n\nn: cell In[3] against models/m")
    assert page.startswith('<div class="blsnb-difference"><div><b>m: cell In[3]')
    assert page.endswith("</div></div>")
    assert 2 == page.count("font-weight:bold")
    for color, text in (("rgba(46,160,67", "+&lt;b&gt;"), ("rgba(229,83,75", "-a")):
        assert f"{color},.18)" in page.partition(f">{text}</div>")[0][-120:]


def test_the_page_is_the_reviewed_one(changed):
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    model = changed(one=("a\n", "<b>\n", "a\n"), two=("c\n", "d\n", "e\n"))
    page = bundle([model, changed("n")])["text/html"].replace("><", ">\n<") + "\n"

    file = Path(__file__).parents[1] / "golden" / "difference.html"
    assert reviewed(file, page) == page


def test_a_long_difference_is_cut(changed):
    """The number of lines beyond 2,000 is the last one; four of a head count."""
    cut = changed(model=("a\n", "b\n" * 1998, "a\n"))
    whole = changed(other=("a\n", "b\n" * 1996, "a\n"))

    assert ["+b", "… 2 more lines"] == bundle([cut])["text/plain"].splitlines()[-2:]
    assert ["+b"] * 1996 == bundle([whole])["text/plain"].splitlines()[-1996:]
