"""Tokens and positions are those of Triton's parser."""

import tracemalloc

import pytest

from blsnb.model.text.tokens import line_and_column, scan

STRING = "Invalid escape sequence, or missing closing quote."


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in scan(text).tokens]


def test_signs_are_tokens_of_their_own() -> None:
    """A sign is not part of a name or a number."""
    assert [
        ("identifier", "a"),
        ("symbol", "-"),
        ("number", "1.5e-3f"),
        ("symbol", "+"),
        ("octal_or_hex", "0x1F"),
        ("end", ""),
    ] == kinds("a-1.5e-3f+0x1F")


def test_only_ascii_blanks_and_comments_are_skipped() -> None:
    """A no-break space is invalid."""
    assert [("identifier", "a"), ("end", "")] == kinds("\t\r\f\v a # b\n")
    assert scan("a\u00a0b").fault is not None


def test_a_string_ends_at_its_own_quote() -> None:
    """The other quote, an escaped quote and a hash are part of it."""
    assert [("string", "'a\"\\'#'"), ("end", "")] == kinds("'a\"\\'#'")


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("a: 08", "Invalid number.", 4),
        ("a: 0x", "Invalid number.", 5),
        ("a: 1e", "Invalid number.", 5),
        ("a: 1.5e-", "Invalid number.", 8),
        (
            "a: 1..2",
            "Invalid number.",
            5,
        ),
        ("a: 4x", "Invalid number.", 4),
        ("a.5", "Invalid number: missing space before it.", 1),
        ("a: 0x1.5", "Invalid number.", 6),
        ("'a\n'", STRING, 2),
        ("'a", STRING, 2),
        (r"'\q'", STRING, 2),
        ("\x01", "Invalid character '\\x01'.", 0),
    ],
)
def test_an_invalid_token_has_a_position(text: str, message: str, offset: int) -> None:
    """It is the offset at which Triton reports the token."""
    assert (message, offset) == scan(text).fault


def test_columns_count_bytes_and_tab_stops() -> None:
    """A tab reaches the next multiple of eight, a letter may take two bytes."""
    assert (2, 12) == line_and_column("a\n\té x", 5)


@pytest.mark.parametrize(
    "text",
    ["name: '%s'", 'name: "%s"', "name: '%s", "# %s", "name: 'a'%s#", "name: '%s\\q'"],
)
def test_a_long_text_takes_little_more_memory_than_itself(text: str) -> None:
    """The search for the end of a string or comment keeps no place to return to."""
    long = text % ((" " if text.endswith("#") else "x") * 200_000)
    tracemalloc.start()
    scan(long)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 10 * len(long)
