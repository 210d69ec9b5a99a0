"""Specification of the book that knows which cell a file came from."""

from pathlib import Path
from types import SimpleNamespace

from blsnb.magics.cell_book import CellBook, CellText

PATH = Path("/models/add/1/model.py")


def book(raw=""):
    history = SimpleNamespace(input_hist_raw=["", raw])
    compiler = SimpleNamespace(
        format_code_name=lambda name: ("Cell", "In[7]") if name == __file__ else None
    )
    return CellBook(SimpleNamespace(compile=compiler, history_manager=history))


def test_a_place_counts_the_magics_line():
    """The text begins on the cell's second line."""
    place = book("%%triton_model add\nx").here("x")

    assert CellText("In[7]", 1, "x", __file__) == place
    assert "cell In[7] line 21 (model.py:20)" == place.label(str(PATH), 20)


def test_blank_lines_above_the_magic_count():
    """IPython drops them before the magic sees its cell."""
    assert 3 == book("\n \n%%triton_model add\nx").here("x").offset


def test_another_cell_in_the_history_does_not_count():
    """A cell may run without being stored in the history."""
    assert 1 == book("\n\nx = 1").here("x").offset


def test_an_older_text_keeps_its_place(tmp_path):
    """An error may come from a run before the latest change."""
    cells = book()
    old, new = CellText("In[1]", 1, "a"), CellText("In[2]", 1, "b")
    cells.remember(tmp_path / "model.py", old)
    cells.remember(tmp_path / "model.py", new)

    assert [old, new, None] == [cells.with_text(text) for text in "abc"]


def test_a_changed_file_has_no_cell(tmp_path):
    """An editor may have written it."""
    cells, path = book(), tmp_path / "model.py"
    place = CellText("In[1]", 1, "a")
    cells.remember(path, place)
    found = []
    for text in ("a", "b"):
        path.write_text(text)
        found.append(cells.find(str(path)))

    assert [place, None] == found
    assert cells.find(str(tmp_path / "other.py")) is None


def test_the_oldest_texts_are_forgotten():
    """The number of texts per file is limited."""
    cells = book()
    for number in range(30):
        cells.remember(PATH, CellText(f"In[{number}]", 1, str(number)))

    found = [cells.with_text(str(n)) is not None for n in range(30)]
    assert [False] * 10 + [True] * 20 == found
