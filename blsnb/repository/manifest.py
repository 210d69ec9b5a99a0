"""The manifest of an export: its files and their digests."""

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
"""Folders of compiled files, which are neither exported nor compared."""
MANIFEST = ".blsnb-export.json"
_BLOCK = 1 << 20


@dataclass(slots=True)
class Manifest:
    """The files that exports wrote to a folder, stored in the folder itself.

    Parameters
    ----------
    files
        Digest of each file by its path relative to the folder.
    expected
        Likewise, of files that an export is about to write, so that they are known if
        it is killed.
    """

    files: dict[str, str] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return the manifest of a folder; an empty one if there is no file."""
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
            # Without a manifest all files are foreign and never overwritten.
            return cls()

    @classmethod
    def settle(cls, folder: Path) -> None:
        """Save which expected files of an interrupted export exist, if possible."""
        if cls._written(folder).expected:
            with contextlib.suppress(OSError):
                cls.read(folder).save(folder)

    def save(self, folder: Path) -> None:
        """Write the manifest completely, or keep the old one."""
        document = {"written_by": "blsnb", "files": dict(sorted(self.files.items()))}
        if self.expected:
            document["expected"] = dict(sorted(self.expected.items()))
        with whole_file(folder / MANIFEST) as partial:
            partial.write_bytes(f"{json.dumps(document, indent=1)}\n".encode())

    def models(self) -> set[str]:
        """Return the names of the exported models."""
        return {path.partition("/")[0] for path in self.files if "/" in path}

    def expect(self, written: Mapping[str, str]) -> None:
        """Note the files of a model, or a single file, before they are written."""
        self.expected = dict(written)

    def replace(self, prefix: str, written: Mapping[str, str]) -> None:
        """Note the files of a model, or a single file, after they were written."""
        for path in _below(self.files, prefix):
            del self.files[path]
        self.files.update(written)
        self.expected = {}

    def is_ours(self, folder: Path, path: str) -> bool:
        """Whether a file still has the content that an export wrote."""
        known = self.files.get(path)
        return known is not None and _is(folder / path, known)


def _texts(found: Any) -> dict[str, str]:
    """Return the paths and digests of a JSON object."""
    items = {} if found is None else found
    return {str(path): str(digest) for path, digest in items.items()}


def _below(files: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the files of a model, or the single file of that name."""
    inner = f"{prefix}/"
    return {p: files[p] for p in files if p == prefix or p.startswith(inner)}


def _is(file: Path, digest: str) -> bool:
    try:
        return digest == digest_of(file)
    except OSError:
        return False


def digest_of(file: Path) -> str:
    """Return the digest of a file's bytes, or the target of a link."""
    if file.is_symlink():
        return f"link to {os.readlink(file)}"
    sha = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            sha.update(block)
            check()
    return sha.hexdigest()


def files_below(folder: Path) -> Iterable[Path]:
    """Yield the files and links of a folder; no link is followed."""
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        inner = Path(root)
        links = [name for name in folders if (inner / name).is_symlink()]
        yield from (inner / name for name in (*names, *links))
