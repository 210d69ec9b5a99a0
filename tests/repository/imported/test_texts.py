"""A cell's text in the form of the file that it came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.repository.imported.derived import Edit, restored, unified

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "original",
    [b"a\r\nb\r\n", BOM + b"a\nb\n", b"a\nb", BOM + b"a\r\nb", b"a\rb\r", b"a\r\nb\n"],
)
def test_an_unchanged_text_becomes_the_bytes_of_the_file(original):
    """A cell has neither BOM nor carriage returns, and its last line has an end."""
    assert original == restored(original, b"a\nb\n")


@pytest.mark.parametrize(
    ("original", "text", "expected"),
    [
        (b"a\r\nb\r\n", b"a\nc\n", b"a\r\nc\r\n"),
        (BOM + b"a\nb\n", b"c\n", BOM + b"c\n"),
        (b"a\nb", b"a\nb\nc\n", b"a\nb\nc"),
        (b"a\r\nb\nc\r\n", b"a\nnew\nb\nc\n", b"a\r\nnew\r\nb\nc\r\n"),
        (b"", b"a\n", b"a\n"),
        (b"a\n", b"", b""),
        (b"\xff\xfe", b"a\n", b"a\n"),
        (b"a", b"b\n", b"b"),
        (b"a\x0cb\r\n", b"a\x0cb\nc\n", b"a\x0cb\r\nc\r\n"),
    ],
)
def test_a_changed_text_keeps_the_form_of_the_file(original, text, expected):
    """Its line ends, its BOM, and whether the last line has an end."""
    assert expected == restored(original, text)


LINES = st.lists(st.sampled_from(["", "a", "b", "\x0c", "\u2028"]), max_size=6)


@given(
    LINES, LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans()
)
def test_nothing_but_the_form_changes(old, new, end, has_bom, has_end):
    """The lines are those of the cell."""
    original = (BOM if has_bom else b"") + end.join(old).encode()
    original += end.encode() if has_end else b""
    text = "".join(f"{line}\n" for line in new).encode()
    result = restored(original, text).removeprefix(BOM).decode()
    lines = result.replace("\r\n", "\n").replace("\r", "\n")

    assert lines.removesuffix("\n") == text.decode().removesuffix("\n")


def test_a_difference_is_unified():
    """A missing file is /dev/null, as `git diff` shows it."""
    labels = ("m/1/model.py (folder)", "m/1/model.py (cell)")
    assert [
        "--- m/1/model.py (folder)",
        "+++ m/1/model.py (cell)",
        "@@ -1,2 +1,2 @@",
        " a",
        "-b",
        "\\ No newline at end of file",
        "+c",
    ] == unified(b"a\nb", b"a\nc\n", labels)
    assert "--- /dev/null" == unified(None, b"a\n", labels)[0]
    assert "+++ /dev/null" == unified(b"a\n", None, labels)[1]
    assert [] == unified(b"a", b"a", labels)


def test_bytes_that_are_no_text_only_differ():
    """Their sizes are shown."""
    [line] = unified(b"\xff", b"ab", ("one", "other"))
    assert "Binary files one and other differ (1 and 2 bytes)" == line


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1 << 18, ["--- m/x (folder)", "+++ m/x (In[1])", "@@ -1 +1 @@"]),
        ((1 << 18) + 1, ["Large files m/x (folder) and m/x (In[1]) differ"]),
    ],
)
def test_files_of_at_most_256_kib_are_compared_by_lines(tmp_path, size, expected):
    """Equal ones have no difference, whatever their size."""
    files = [tmp_path / name for name in ("base", "cell", "folder")]
    for file, letter in zip(files, "aba", strict=True):
        file.write_text(letter * size)
    edit = Edit("x", *files)

    assert expected == edit.difference("m", "In[1]")[:3]
    assert not edit.is_stale
    assert not edit.is_empty
    files[1].write_text("a" * size)
    assert [] == edit.difference("m", "In[1]")
    assert edit.is_empty
    files[2].write_text("c" * size)
    assert edit.is_stale
    files[1].write_text("c" * size)
    assert not edit.is_stale
