"""The order of a hash table's entries."""

import zlib

import pytest

from blsnb.model.rules.hash_order import hash_order

NO_UTF8 = b"X\xff".decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name", [NO_UTF8, "\ud800", "é", ""])
def test_every_name_has_a_position(name):
    """A client may send names that are not valid UTF-8."""
    assert ["A", name] == sorted(hash_order([name, "A"]), key="A".__ne__)


def test_names_with_different_bytes_have_different_positions():
    """Invalid UTF-8 counts with its bytes."""
    names = [bytes([0x80 + n]).decode("utf-8", "surrogateescape") for n in range(40)]
    order = hash_order(names)
    assert sorted(names) == sorted(order)
    assert order not in (names, names[::-1])


@pytest.mark.parametrize("names", [["A", "B"], ["B", "A"], ["X", "Z"]])
def test_the_second_of_two_names_comes_first(names):
    """It begins the chain of the table, unless both have one bucket."""
    assert names[::-1] == hash_order(names)


@pytest.mark.parametrize(
    ("count", "checksum"),
    [
        (2, 2615027267),
        (13, 2980787731),
        (14, 3566524858),
        (1300, 2750552384),
        (11_000, 1869401381),
        (25_000, 2209446521),
    ],
)
def test_the_order_is_that_of_the_library(count, checksum):
    """The checksums are those of libstdc++'s `unordered_set`, whose table grows."""
    names = [f"{'x' * (n % 19)}{n}" for n in range(count)]
    order = hash_order(names)

    assert checksum == zlib.crc32("".join(f"{name}," for name in order).encode())
