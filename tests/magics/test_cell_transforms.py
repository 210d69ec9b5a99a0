"""Specification of where our magics may stand in a cell."""

import pytest

from blsnb.magics.cell_transforms import move_to_the_end, source_below

from .models import DOUBLE

WHERE = (
    "must be the first line of its cell: what stands above it, comments too, belongs "
    "below it or into another cell"
)
CALL = "get_ipython().run_line_magic('triton_model', 'add --quiet')\n"


def test_the_call_comes_last_and_lines_keep_their_numbers():
    """The first line becomes a comment."""
    moved = move_to_the_end(["%triton_model add --quiet\n", "x = 1\n", "y = 2"])

    expected = ["# %triton_model add --quiet\n", "x = 1\n", "y = 2\n", CALL]
    assert expected == moved


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1\n%triton_model add\n",
        "%triton_models add\nx = 1\n",
        "%%triton_model add\nx = 1\n",
        "%triton_model?\nx = 1\n",
        "%triton_model add",
        "%triton_model add\n\n  \n",
        "",
    ],
)
def test_other_cells_are_left_alone(cell):
    """Only a first line with text below it is transformed."""
    lines = cell.splitlines(keepends=True)

    assert lines == move_to_the_end(lines)
    assert source_below(cell) is None


@pytest.mark.parametrize("cell", ["%%triton_model --help", "%%triton_model m --help\n"])
def test_help_needs_no_body(notebook, cell):
    """The command that each usage error names prints the options."""
    ran = notebook.run(cell)

    assert "--max-batch-size N" in ran.stdout
    assert "" == ran.stderr


@pytest.mark.parametrize("name", ["triton_config", "triton_file"])
def test_help_of_the_other_cell_magics_is_their_usage(notebook, name):
    """They have no options."""
    assert f"usage: %%{name} NAME" in notebook.run(f"%%{name} --help").stderr


@pytest.mark.parametrize("above", ["", "\n", "\n  \n"])
def test_the_source_is_all_below_the_line(above):
    """The source is unchanged, and its last line ends with a newline."""
    assert "\nx = '\\n'\n" == source_below(f"{above}%triton_model add\n\nx = '\\n'")


@pytest.mark.parametrize("above", ["# My first model.\n", "import blsnb\n\n"])
@pytest.mark.parametrize("magic", ["triton_model", "triton_config", "triton_file"])
def test_a_cell_magic_below_something_says_where_it_belongs(notebook, above, magic):
    """IPython alone would report an unknown magic."""
    cell = DOUBLE.lstrip().replace("triton_model", magic)
    ran = notebook.run(f"{above}{cell}")

    assert f"UsageError: %%{magic} {WHERE}\n" in ran.stderr


def test_a_magic_in_a_string_is_ignored(notebook):
    """A magic inside a string is not a line of the cell."""
    ran = notebook.run(f"text = '''\n{DOUBLE}'''\nlen(text)")

    assert ran.error is None
