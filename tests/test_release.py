"""Releases of Triton as numbers that can be compared."""

import pytest

from blsnb.release import parse_release


@pytest.mark.parametrize(
    ("text", "release"),
    [("24.10", (24, 10)), ("25.08", (25, 8)), ("26.07", (26, 7)), (None, (26, 7))],
)
def test_a_release_between_the_oldest_and_the_newest_is_followed(text, release):
    """Both ends are among them; the newest one is the default."""
    assert release == parse_release(text)


@pytest.mark.parametrize(
    ("expected", "texts"),
    [
        ("from '24.10' to '26.07'", ["24.09", "23.12", "26.08", "27.01"]),
        ("such as '24.10'", ["new", "24", "24.", ".10", "24.10.1", "²4.10"]),
    ],
)
def test_another_text_is_refused(expected, texts):
    """The error has the text, and the releases that are followed."""
    for text in texts:
        with pytest.raises(ValueError, match="triton_release") as refused:
            parse_release(text)
        found = f"triton_release={text!r} is not valid; expected a release {expected}"
        assert found == str(refused.value)
