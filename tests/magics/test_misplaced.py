"""Specification of cell magics that are not where a cell begins."""

import pytest

from .models import DOUBLE

WHERE = "must be the first line of its cell: what stands above it, comments too, "


@pytest.mark.parametrize("above", ["# My first model.\n", "import blsnb\n\n"])
@pytest.mark.parametrize("magic", ["triton_model", "triton_config", "triton_file"])
def test_a_cell_magic_below_something_says_where_it_belongs(notebook, above, magic):
    """IPython alone would say that there is no such magic."""
    cell = DOUBLE.lstrip().replace("triton_model", magic)
    ran = notebook.run(f"{above}{cell}")

    assert f"UsageError: %%{magic} {WHERE}" in ran.stderr


def test_text_of_a_cell_in_a_string_is_nobodys_business(notebook):
    """It is no line of the cell."""
    ran = notebook.run(f"text = '''\n{DOUBLE}'''\nlen(text)")

    assert ran.error is None
