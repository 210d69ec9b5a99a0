"""Errors and remarks about files that are not saved runs or incomplete."""

from __future__ import annotations

from pathlib import Path

from blsnb.errors import TraceFileError

_RUN = (b"PK", b"\x89")
"""First bytes of run files of both versions."""
_HINTS = {
    b"<": "an HTML page of run.save() is for viewing; save the run as .blsrun as well",
    b"[": "blsnb.load_trace() reads trace files of a Triton server",
    b"{": "blsnb.load_trace() reads trace files of a Triton server",
}
"""Advice by the first byte of a file."""


def is_run_file(head: bytes) -> bool:
    """Whether a file may be a saved run, judged by its first bytes."""
    return head.startswith(_RUN)


def refusal(path: Path, head: bytes, reason: str) -> TraceFileError:
    """Return the error for a file that is not a run; ``head`` are its first bytes."""
    if not head:
        return TraceFileError(f"{path} is not a saved run: it is empty")
    hint = _HINTS.get(head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1], "")
    reason = f"{reason}; {hint}" if hint else reason
    return TraceFileError(f"{path} is not a saved run: {reason}")


def damage(path: Path, head: bytes, reason: str) -> TraceFileError:
    """Return the error for a file whose bytes are damaged."""
    if not is_run_file(head):
        return refusal(path, head, reason)
    return TraceFileError(f"{path} is damaged, or only a part of a run: {reason}")


def newer(path: Path, written_by: object, format: int, known: int) -> TraceFileError:
    """Return the error for a file in a later format."""
    return TraceFileError(
        f"{path} was saved by {_release(written_by)} in format {format}; this blsnb "
        f"reads format {known} and older: a newer blsnb is needed"
    )


def unknown_chunk(path: Path, written_by: object, type: str) -> TraceFileError:
    """Return the error for a required chunk of an unknown type."""
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
        Whether only its end is missing.
    """
    if read == size:
        return "The file was not completed: what was written until then is shown."
    fault = (
        "ends in the middle of a chunk" if cut_off else f"is damaged at byte {read:,}"
    )
    return f"The file {fault}: its first {read:,} of {size:,} bytes are shown."
