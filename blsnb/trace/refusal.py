"""Refusal: what is said of a file that is no run, or one that cannot be read."""

from __future__ import annotations

from pathlib import Path

from blsnb.errors import TraceFileError

_ZIP = b"PK"
_HINTS = {
    b"<": "a page that run.save() wrote is to look at: beside it, save a .blsrun",
    b"[": "blsnb.load_trace() reads what a Triton server wrote",
    b"{": "blsnb.load_trace() reads what a Triton server wrote",
}
"""By what a file of another kind begins with."""


def refusal(path: Path, head: bytes, reason: str) -> TraceFileError:
    """Return what is raised for a file that cannot be read.

    Parameters
    ----------
    head
        Its first bytes.
    reason
        What was the first fault in it.
    """
    if not head:
        return TraceFileError(f"{path} is no run that blsnb saved: it is empty")
    hint = _HINTS.get(head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1], "")
    told = f"{reason}; {hint}" if hint else reason
    return TraceFileError(f"{path} is no run that blsnb saved: {told}")


def damage(path: Path, head: bytes, reason: str) -> TraceFileError:
    """Return what is raised for a file that cannot be unpacked."""
    if not head.startswith(_ZIP):
        return refusal(path, head, reason)
    return TraceFileError(f"{path} is damaged, or only a part of a run: {reason}")


def newer(path: Path, written_by: object, format: int, known: int) -> TraceFileError:
    """Return what is raised for a file in a format that came later."""
    by = written_by[:40] if isinstance(written_by, str) else "another blsnb"
    return TraceFileError(
        f"{path} was saved by {by} in format {format}; this blsnb reads format "
        f"{known}: a newer one is needed"
    )
