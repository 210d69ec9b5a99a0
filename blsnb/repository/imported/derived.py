"""A private copy of a user's model, and the changes that cells made to it."""

from __future__ import annotations

import codecs
import difflib
import filecmp
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from blsnb.errors import RepositoryError
from blsnb.files.owned import remove
from blsnb.repository.directory import Files, ModelDirectory
from blsnb.repository.imported.following import followed

_LINE = r"(?P<text>[^\r\n]*)(?P<end>\r\n|\n|\r|\Z)"
_BOM = codecs.BOM_UTF8
_NO_END = "\\ No newline at end of file"
_Line = tuple[str, str]
"""The text of a line and its end."""


def restored(original: bytes, text: bytes) -> bytes:
    """Return a cell's text with the BOM and the line ends of a file.

    Lines of a cell always end with a newline. A text that differs in BOM and line ends
    only becomes the file's bytes. Contents that are not UTF-8 are returned unchanged.
    """
    try:
        old = _lines(original.removeprefix(_BOM).decode())
        new = _lines(text.removeprefix(_BOM).decode())
    except UnicodeDecodeError:
        return text
    if not old or not new:
        return text
    if [line for line, _ in old] == [line for line, _ in new]:
        return original
    last, _ = new[-1]
    ends = {end for _, end in old if end}
    usual = max(sorted(ends), key=[end for _, end in old].count, default="\n")
    if len(ends) > 1:
        new = list(_with_old_ends(old, new, usual))
    else:
        new = [(line, usual) for line, _ in new]
    if last and not old[-1][1]:
        # The last line of the file has no newline, so the new one has none.
        new[-1] = (last, "")
    begin = _BOM if original.startswith(_BOM) else b""
    return begin + "".join(line + end for line, end in new).encode()


def _lines(text: str) -> list[_Line]:
    return [
        (match["text"], match["end"])
        for match in re.finditer(_LINE, text)
        if match.group()
    ]


def _with_old_ends(
    old: Sequence[_Line], new: Sequence[_Line], usual: str
) -> Iterator[_Line]:
    """Yield new lines; unchanged lines keep their ends."""
    before, after = ([line for line, _ in lines] for lines in (old, new))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, _, first, end in matcher.get_opcodes():
        for index in range(first, end):
            same = old[start + index - first][1] if kind == "equal" else usual
            yield new[index][0], same or usual


def unified(old: bytes | None, new: bytes | None, labels: tuple[str, str]) -> list[str]:
    """Return the lines of a unified difference; empty without one.

    Parameters
    ----------
    old, new
        Contents of a file; None if it is missing.
    labels
        Names of the two.
    """
    if old == new:
        return []
    before, after = labels
    try:
        first, second = (
            _shown((each or b"").decode("utf-8-sig")) for each in (old, new)
        )
    except UnicodeDecodeError:
        sizes = " and ".join(f"{len(each or b''):,}" for each in (old, new))
        return [f"Binary files {before} and {after} differ ({sizes} bytes)"]
    head = [
        f"--- {'/dev/null' if old is None else before}",
        f"+++ {'/dev/null' if new is None else after}",
    ]
    body = list(difflib.unified_diff(first, second, lineterm=""))[2:]
    return [*head, *(piece for line in body for piece in line.split("\n"))]


def _shown(text: str) -> list[str]:
    """Return the lines of a text; mark a last line without a newline."""
    lines = _lines(text)
    shown = [line for line, _ in lines]
    if lines and not lines[-1][1]:
        shown[-1] += f"\n{_NO_END}"
    return shown


MAX_TEXT_BYTES = 1 << 18
"""Maximum size in bytes of a file that is compared line by line."""
Content = bytes | Path | None
"""The content of a file: small, large, or missing."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A file that a cell changed, added or removed.

    Parameters
    ----------
    path
        Its path in the model's folder.
    base
        The user's file when the cell was created.
    cell
        The file that the cell wrote.
    folder
        The file in the user's folder.
    """

    path: str
    base: Path
    cell: Path
    folder: Path

    @property
    def written(self) -> Content:
        """New content of the user's file, with its own line ends."""
        now, base = _content(self.folder), _content(self.base)
        cell, form = _content(self.cell), now if _agree(now, base) else base
        if isinstance(form, bytes) and isinstance(cell, bytes):
            return restored(form, cell)
        return cell

    @property
    def is_empty(self) -> bool:
        """Whether the cell changed line ends only."""
        return _agree(_content(self.base), _content(self.cell))

    @property
    def is_stale(self) -> bool:
        """Whether the user's file was also changed, differently from the cell's."""
        now = _content(self.folder)
        return not (_agree(now, _content(self.base)) or _agree(now, self.written))

    def difference(self, name: str, cell: str) -> list[str]:
        """Return the lines from the user's file to the cell's."""
        labels = (f"{name}/{self.path} (folder)", f"{name}/{self.path} ({cell})")
        return _compared(_content(self.folder), self.written, labels)

    def three_way(self, name: str, cell: str) -> list[str]:
        """Return the lines of two differences: of the folder, and of the cell."""
        path, base = f"{name}/{self.path}", _content(self.base)
        theirs = (f"{path} (before)", f"{path} (folder)")
        ours = (f"{path} (before)", f"{path} ({cell})")
        return [
            *_compared(base, _content(self.folder), theirs),
            *_compared(base, self.written, ours),
        ]


@dataclass(slots=True)
class Derived:
    """A private model that was made from a user's folder.

    Parameters
    ----------
    folder
        The user's folder of the model.
    private
        The private folder, which cells change.
    base
        A copy of the user's files.
    stamps
        Time and size of the user's files when they were copied.
    touched
        Paths of files that cells wrote or removed.
    """

    folder: Path
    private: Path
    base: Path
    stamps: Files
    touched: set[str] = field(default_factory=set)

    def edits(self) -> list[Edit]:
        """Return the changes of cells."""
        return [edit for edit in self._touched() if not edit.is_empty]

    def _touched(self) -> Iterator[Edit]:
        for path in sorted(self.touched):
            yield Edit(path, self.base / path, self.private / path, self.folder / path)

    def restored_texts(self) -> dict[str, bytes]:
        """Return the texts of cells with the line ends and BOM of their files."""
        written = {edit.path: edit.written for edit in self._touched()}
        return {p: text for p, text in written.items() if isinstance(text, bytes)}

    def changed_paths(self) -> list[str]:
        """Return the files of the user's folder that changed since it was copied."""
        now = followed(ModelDirectory(self.folder).files())
        then = followed(self.stamps)
        paths = {path for path in now.keys() | then if now.get(path) != then.get(path)}
        return sorted(path for path in paths if not path.endswith("/"))

    def rebase(self, paths: Iterable[str]) -> None:
        """Take files of the user's folder as the new base."""
        now = ModelDirectory(self.folder).files()
        stamps = dict(self.stamps)
        for path in paths:
            remove(self.base / path)
            stamps.pop(path, None)
            if path in now:
                stamps[path] = now[path]
                (self.base / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.folder / path, self.base / path)
        self.stamps = stamps


def _content(file: Path) -> Content:
    try:
        if os.path.getsize(file) > MAX_TEXT_BYTES:
            return file
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RepositoryError(f"{file} cannot be read: {error.strerror}") from error


def _is_same(one: Content, other: Content) -> bool:
    if isinstance(one, Path) and isinstance(other, Path):
        return filecmp.cmp(one, other, shallow=False)
    return one == other


def _agree(one: Content, other: Content) -> bool:
    """Whether two contents are equal except for line ends and BOM."""
    if isinstance(one, bytes) and isinstance(other, bytes):
        return restored(one, other) == one
    return _is_same(one, other)


def _compared(old: Content, new: Content, labels: tuple[str, str]) -> list[str]:
    """Return the lines of a difference; one sentence for large files."""
    if isinstance(old, Path) or isinstance(new, Path):
        same = _is_same(old, new)
        return [] if same else [f"Large files {labels[0]} and {labels[1]} differ"]
    return unified(old, new, labels)
