"""A run as the header and the bytes of its page, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np

from blsnb.trace.comparison import AnyTrace
from blsnb.views.documents import document, host, wire


def encode(
    run: AnyTrace, rows: Sequence[int] | None = None, **options: Any
) -> tuple[wire.Header, bytes]:
    """Return header and buffer of a run; options as for `assemble`."""
    header, buffer = wire.assemble(run, rows, **options)
    return header, bytes(buffer)


def decode(header: Mapping[str, Any], buffer: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of an encoded trace by name."""
    return {
        name: np.frombuffer(buffer, f"<{dtype}", count, offset)
        for name, (dtype, offset, count) in header["columns"].items()
    }


def html_with(code: str, run: AnyTrace, **options: Any) -> str:
    """Return the document of a run with other JavaScript than the view's."""
    with mock.patch.object(host, "_own_code", return_value=code):
        return document.html(run, **options)
