"""Refusal: what is said of a file that is no run, or one that cannot be read."""

from __future__ import annotations

from pathlib import Path

from blsnb.errors import TraceFileError

_RUN = (b"PK", b"\x89")
"""First bytes of run files, of both versions."""
_HINTS = {
    b"<": "a page that run.save() wrote is to look at: beside it, save a .blsrun",
    b"[": "blsnb.load_trace() reads what a Triton server wrote",
    b"{": "blsnb.load_trace() reads what a Triton server wrote",
}
"""By what a file of another kind begins with."""


def is_run_file(head: bytes) -> bool:
    """Return whether a file may be a saved run, by its first bytes."""
    return head.startswith(_RUN)


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
    if not is_run_file(head):
        return refusal(path, head, reason)
    return TraceFileError(f"{path} is damaged, or only a part of a run: {reason}")


def newer(path: Path, written_by: object, format: int, known: int) -> TraceFileError:
    """Return what is raised for a file in a format that came later."""
    return TraceFileError(
        f"{path} was saved by {_release(written_by)} in format {format}; this blsnb "
        f"reads format {known} and older: a newer blsnb is needed"
    )


def unknown_chunk(path: Path, written_by: object, type: str) -> TraceFileError:
    """Return what is raised for a chunk that has to be understood, and is not."""
    return TraceFileError(
        f"{path} was saved by {_release(written_by)} and contains a chunk of the type "
        f"{type!r}, which this blsnb does not know: a newer blsnb is needed"
    )


def _release(written_by: object) -> str:
    return written_by[:40] if isinstance(written_by, str) else "another blsnb"


def unfinished(read: int, size: int, cut_off: bool = True) -> str:
    """Return the remark about a file that was not completed, or is damaged.

    Parameters
    ----------
    read, size
        Bytes of its whole chunks, and of the file.
    cut_off
        Whether its end is missing, and nothing else is wrong.
    """
    if read == size:
        return "The file was not completed: what was written until then is shown."
    fault = (
        "ends in the middle of a chunk" if cut_off else f"is damaged at byte {read:,}"
    )
    return f"The file {fault}: its first {read:,} of {size:,} bytes are shown."
