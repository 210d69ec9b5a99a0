"""The order of a hash table's entries."""

import pytest

from blsnb.model.rules.hash_order import hash_order

NO_UTF8 = b"X\xff".decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name", [NO_UTF8, "\ud800", "é", ""])
def test_a_name_of_any_letters_has_a_place(name):
    """Also one that is no UTF-8, as a client may have sent it."""
    assert ["A", name] == sorted(hash_order([name, "A"]), key="A".__ne__)


def test_names_of_different_bytes_have_different_places():
    """What is no UTF-8 counts with the bytes that were sent."""
    names = [bytes([0x80 + n]).decode("utf-8", "surrogateescape") for n in range(40)]
    order = hash_order(names)
    assert sorted(names) == sorted(order)
    assert order not in (names, names[::-1])
