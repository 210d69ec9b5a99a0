"""Specification of the field that receives a file in pieces."""

import pytest

from blsnb.form.input_row import UploadField
from blsnb.form.random_values import MAX_BYTES
from blsnb.form.uploads import size_text


@pytest.fixture
def sentences():
    return []


@pytest.fixture
def field(sentences):
    """A field that notes its sentences."""
    field = UploadField("File for X", sentences.append)
    yield field
    field.close()


def receive(field, piece=None, **message):
    """Handle a message as the page sends it."""
    buffers = [] if piece is None else [memoryview(piece)]
    field._handle_custom_msg(message, buffers)


def begin(field, id_, size, name="a.npy"):
    receive(field, type="begin", id=id_, name=name, size=size)


def test_a_file_is_complete_when_all_pieces_have_arrived(field, sentences):
    """Before that there is no file, and the field says how much has arrived."""
    begin(field, 1, 3)
    receive(field, b"ab", type="piece", id=1)
    assert field.upload is None
    receive(field, b"c", type="piece", id=1)

    assert ("a.npy", b"abc") == field.upload
    assert [
        "a.npy: 0 of 3 bytes received.",
        "a.npy: 2 of 3 bytes received.",
        "a.npy: 3 bytes received.",
    ] == sentences


def test_pieces_of_an_earlier_choice_are_ignored(field):
    """A user may choose another file while one is being sent."""
    begin(field, 1, 4)
    begin(field, 2, 2, "b.npy")
    receive(field, b"old!", type="piece", id=1)
    receive(field, b"ok", type="piece", id=2)

    assert ("b.npy", b"ok") == field.upload


@pytest.mark.parametrize("pieces", [[], [b"abc", b"d"]])
def test_more_than_was_announced_is_not_kept(field, pieces):
    """A page cannot make the kernel keep more than the limit."""
    begin(field, 1, MAX_BYTES + 1 if not pieces else 3)
    for piece in pieces or [b"abc"]:
        receive(field, piece, type="piece", id=1)

    assert (None if not pieces else ("a.npy", b"abc")) == field.upload


def test_a_file_of_the_maximum_size_is_accepted():
    """One byte more is refused with what to do instead."""
    assert "" == size_text("a.npy", MAX_BYTES)
    assert (
        "a.npy has 32.0 MB, maximum 32 MB; read it in a cell and use a variable"
    ) == size_text("a.npy", MAX_BYTES + 1)


def test_an_empty_file_is_a_file(field):
    """What it means is for the input to say."""
    begin(field, 1, 0)

    assert ("a.npy", b"") == field.upload
