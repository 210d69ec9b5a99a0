"""Tokens and places are those of Triton's parser."""

import pytest

from blsnb.model.text.tokens import line_and_column, scan


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
    """A no-break space is no blank."""
    assert [("identifier", "a"), ("end", "")] == kinds("\t\r\f\v a # b\n")
    assert scan("a\u00a0b").fault is not None


def test_a_string_ends_at_its_own_quote() -> None:
    """The other quote, an escaped quote and a hash are part of it."""
    assert [("string", "'a\"\\'#'"), ("end", "")] == kinds("'a\"\\'#'")


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("a: 08", "Numbers starting with leading zero must be in octal.", 4),
        ("a: 0x", '"0x" must be followed by hex digits.', 5),
        ("a: 1e", '"e" must be followed by exponent.', 5),
        ("a: 1.5e-", '"e" must be followed by exponent.', 8),
        (
            "a: 1..2",
            "Already saw decimal point or exponent; can't have another one.",
            5,
        ),
        ("a: 4x", "Need space between number and identifier.", 4),
        ("a.5", "Need space between identifier and decimal point.", 1),
        ("a: 0x1.5", "Hex and octal numbers must be integers.", 6),
        ("'a\n'", "String literals cannot cross line boundaries.", 2),
        ("'a", "Unexpected end of string.", 2),
        (r"'\q'", "Invalid escape sequence in string literal.", 2),
        ("\x01", "Invalid control characters encountered in text.", 0),
    ],
)
def test_what_is_no_token_has_a_place(text: str, message: str, offset: int) -> None:
    """A fault names the place where the token stops being one."""
    assert (message, offset) == scan(text).fault


def test_columns_count_bytes_and_tab_stops() -> None:
    """A tab reaches the next multiple of eight, a letter may take two bytes."""
    assert (2, 12) == line_and_column("a\n\té x", 5)
