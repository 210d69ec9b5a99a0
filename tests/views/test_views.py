"""Specification of the room as a whole."""

import subprocess
import sys

import pytest
from asserting import some

import blsnb.views


def test_importing_the_room_loads_neither_anywidget_nor_matplotlib():
    """They are paid for by who shows a live view or asks for a figure."""
    script = (
        "import sys, blsnb.views; print(*{'anywidget', 'matplotlib'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert "" == done.stdout.strip()


def test_every_name_of_the_room_can_be_imported():
    """What the room lists is there, the lazy ones included."""
    for name in some(blsnb.views.__all__):
        assert callable(getattr(blsnb.views, name))


def test_a_name_that_the_room_does_not_have_is_an_attribute_error():
    """A misspelled name is reported as for any module."""
    with pytest.raises(AttributeError, match="has no attribute 'TraceVeiw'"):
        blsnb.views.TraceVeiw  # noqa: B018
