"""Lines of cells at which a breakpoint stops."""

import pytest

from blsnb.magics.debugging.cell_lines import CellLines

MODEL = """\
%%triton_model m
# comment
import numpy

def scaled(
    array: numpy.ndarray,
    # comment
):
    pass
"""


@pytest.mark.parametrize(
    ("line", "stop"), [(1, None), (2, None), (3, 3), (4, 3), (6, 6), (7, 6), (9, 9)]
)
def test_a_breakpoint_moves_up_to_a_line_with_code(line, stop):
    """An annotation is code of a model, whatever blsnb itself imports."""
    assert stop == CellLines(MODEL).bound(line)


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\0'\n"])
def test_incomplete_python_of_a_model_keeps_its_breakpoints(text):
    """While it is written; a file that is not Python stops nowhere."""
    assert 2 == CellLines(f"%%triton_model m\n{text}").bound(2)
    assert CellLines(f"%%triton_file m/1/labels.txt\n{text}").bound(2) is None
    assert CellLines(f"%%triton_config m\n{text}").bound(2) is None


def test_a_cell_of_the_notebook_is_not_ours():
    """Its breakpoints stay as they are."""
    assert not CellLines("x = 1\n").is_ours
    assert CellLines(MODEL).is_ours
