"""Messages between processes: arrays arrive as they were sent."""

from __future__ import annotations

import threading
from multiprocessing.connection import Pipe
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.evaluation.work.frames import receive, send

SHAPES = st.sampled_from([(0,), (1,), (), (3, 5), (40, 60), (2, 0, 3)])
DTYPES = st.sampled_from(["f4", "i8", "bool", "f2", "u1", "object"])


def sent(message: object) -> Any:
    """Send a message through a pipe and return what arrives."""
    ours, theirs = Pipe()
    sender = threading.Thread(target=send, args=(ours, message))
    sender.start()
    found = receive(theirs)
    sender.join()
    ours.close()
    theirs.close()
    return found


@given(SHAPES, DTYPES, st.booleans())
def test_arrays_arrive_equal_and_writable(
    shape: tuple[int, ...], dtype: str, is_fortran: bool
) -> None:
    """An array of any type and layout arrives with its values, and may be changed."""
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array = np.asfortranarray(array) if is_fortran else array
    [found] = sent([array])
    assert (array.dtype, array.shape) == (found.dtype, found.shape)
    assert array.tolist() == found.tolist()
    assert found.flags.writeable


def test_a_message_that_cannot_be_pickled_leaves_the_connection_usable() -> None:
    """Nothing of a refused message is sent."""
    ours, theirs = Pipe()
    with pytest.raises(Exception, match="pickle"):
        send(ours, [np.zeros(10_000), lambda: 0])
    send(ours, "next")
    assert "next" == receive(theirs)
    ours.close()
    theirs.close()


def test_a_closed_end_is_an_end_of_file() -> None:
    """The receiver learns that no message will come."""
    ours, theirs = Pipe()
    ours.close()
    with pytest.raises(EOFError):
        receive(theirs)
    theirs.close()
