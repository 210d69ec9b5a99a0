"""Manifest: which files of a folder an export wrote, and what it wrote in them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MANIFEST = ".blsnb-export.json"
_BLOCK = 1 << 20


@dataclass(slots=True)
class Manifest:
    """Remembers an export in the folder itself, so that the next one knows its own.

    Parameters
    ----------
    files
        Digest of each file by its path relative to the folder.
    """

    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return the manifest of a folder; an empty one where there is none."""
        try:
            document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            files = document["files"]
        except (OSError, ValueError, KeyError, TypeError):
            # Without it nothing is known to be ours, so nothing is overwritten.
            return cls()
        if not isinstance(files, dict):
            return cls()
        return cls({str(path): str(digest) for path, digest in files.items()})

    def save(self, folder: Path) -> None:
        """Write it: all of it, or the old one stays."""
        document = {"written_by": "blsnb", "files": dict(sorted(self.files.items()))}
        write_whole(folder / MANIFEST, f"{json.dumps(document, indent=1)}\n".encode())

    def models(self) -> set[str]:
        """Return the names of the models that were exported."""
        return {path.partition("/")[0] for path in self.files if "/" in path}

    def replace(self, prefix: str, written: Mapping[str, str]) -> None:
        """Note what one model, or one file, consists of now."""
        for path in list(self.files):
            if path == prefix or path.startswith(f"{prefix}/"):
                del self.files[path]
        self.files.update(written)

    def is_ours(self, folder: Path, path: str) -> bool:
        """Whether a file still is what an export wrote there."""
        known = self.files.get(path)
        return known is not None and known == digest_of(folder / path)


def digest_of(file: Path) -> str:
    """Return the digest of a file's bytes; of a link, that it is one."""
    if file.is_symlink():
        return f"link to {os.readlink(file)}"
    sha = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            sha.update(block)
    return sha.hexdigest()


def files_below(folder: Path) -> Iterable[Path]:
    """Yield the files of a folder, and links; none is followed."""
    for root, folders, names in os.walk(folder):
        inner = Path(root)
        links = [name for name in folders if (inner / name).is_symlink()]
        yield from (inner / name for name in (*names, *links))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there."""
    beside = path.with_name(f".{path.name.lstrip('.')}.new")
    try:
        # A link in its place would lead elsewhere.
        beside.unlink(missing_ok=True)
        beside.write_bytes(content)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
