"""What ``--file`` names: weights, labels and modules to put beside a model."""

from __future__ import annotations

from pathlib import Path

from IPython.core.error import UsageError


def beside(given: list[str]) -> dict[str, Path]:
    """Return where the files of ``--file PATH[:DEST]`` go, and whence they come.

    Raises
    ------
    UsageError
        A file is missing.
    """
    files: dict[str, Path] = {}
    for word in given:
        source, destination = _source(word)
        if source.is_dir():
            inner = (path for path in sorted(source.rglob("*")) if path.is_file())
            files |= {
                f"{destination}/{path.relative_to(source).as_posix()}": path
                for path in inner
                if "__pycache__" not in path.parts
            }
        elif source.is_file():
            files[destination] = source
        else:
            raise UsageError(f"--file {word}: there is no file {source}")
    return files


def _source(word: str) -> tuple[Path, str]:
    whole = Path(word).expanduser()
    path, colon, destination = word.rpartition(":")
    if whole.exists() or not colon or not destination:
        return whole, whole.name
    return Path(path).expanduser(), destination.strip("/")
