"""Manifest: which files of a folder an export wrote, and what it wrote in them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blsnb.files.interrupts import check
from blsnb.files.whole import whole_file

LEFT_OUT = frozenset({"__pycache__"})
"""Folders that belong to one interpreter."""
MANIFEST = ".blsnb-export.json"
_BLOCK = 1 << 20


@dataclass(slots=True)
class Manifest:
    """Remembers an export in the folder itself, so that the next one knows its own.

    Parameters
    ----------
    files
        Digest of each file by its path relative to the folder.
    expected
        Likewise, of what an export was about to put there: written down before, so that
        its files are known if it is killed.
    """

    files: dict[str, str] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return the manifest of a folder; an empty one where there is none."""
        manifest = cls._written(folder)
        expected, manifest.expected = manifest.expected, {}
        for prefix in {path.partition("/")[0] for path in expected}:
            arrived = _below(expected, prefix)
            if all(_is(folder / path, digest) for path, digest in arrived.items()):
                manifest.replace(prefix, arrived)
        return manifest

    @classmethod
    def _written(cls, folder: Path) -> Manifest:
        try:
            document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            return cls(_texts(document["files"]), _texts(document.get("expected")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # Without it nothing is known to be ours, so nothing is overwritten.
            return cls()

    @classmethod
    def settle(cls, folder: Path) -> None:
        """Write down what arrived of an export that ended early, if the disk allows."""
        if cls._written(folder).expected:
            with contextlib.suppress(OSError):
                cls.read(folder).save(folder)

    def save(self, folder: Path) -> None:
        """Write it: all of it, or the old one stays."""
        document = {"written_by": "blsnb", "files": dict(sorted(self.files.items()))}
        if self.expected:
            document["expected"] = dict(sorted(self.expected.items()))
        with whole_file(folder / MANIFEST) as partial:
            partial.write_bytes(f"{json.dumps(document, indent=1)}\n".encode())

    def models(self) -> set[str]:
        """Return the names of the models that were exported."""
        return {path.partition("/")[0] for path in self.files if "/" in path}

    def expect(self, written: Mapping[str, str]) -> None:
        """Note what one model, or one file, is about to consist of."""
        self.expected = dict(written)

    def replace(self, prefix: str, written: Mapping[str, str]) -> None:
        """Note what one model, or one file, consists of now."""
        for path in _below(self.files, prefix):
            del self.files[path]
        self.files.update(written)
        self.expected = {}

    def is_ours(self, folder: Path, path: str) -> bool:
        """Whether a file still is what an export wrote there."""
        known = self.files.get(path)
        return known is not None and _is(folder / path, known)


def _texts(found: Any) -> dict[str, str]:
    """Return the paths and digests of a JSON object; AttributeError if it is none."""
    items = {} if found is None else found
    return {str(path): str(digest) for path, digest in items.items()}


def _below(files: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the files of one model, or the one file."""
    inner = f"{prefix}/"
    return {p: files[p] for p in files if p == prefix or p.startswith(inner)}


def _is(file: Path, digest: str) -> bool:
    try:
        return digest == digest_of(file)
    except OSError:
        return False


def digest_of(file: Path) -> str:
    """Return the digest of a file's bytes; of a link, that it is one."""
    if file.is_symlink():
        return f"link to {os.readlink(file)}"
    sha = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            sha.update(block)
            check()
    return sha.hexdigest()


def files_below(folder: Path) -> Iterable[Path]:
    """Yield the files of a folder, and links; none is followed.

    What a server that runs the models compiled there is left out.
    """
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        inner = Path(root)
        links = [name for name in folders if (inner / name).is_symlink()]
        yield from (inner / name for name in (*names, *links))
