"""The result of a comparison with a real Triton server, and its display."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blsnb.arguments import path_of
from blsnb.parity.agreement import Agreement


@dataclass(frozen=True, repr=False)
class Parity(Agreement):
    """The result of `blsnb.Server.compare`.

    Parameters
    ----------
    model_name
        The compared model.
    server
        The real server and its version, such as ``"Triton 2.51.0"``.
    cases
        One for each request, in order.
    notes
        Circumstances that may explain a difference, or that limited the comparison.
    """

    def plot(self) -> Any:
        """Return a matplotlib figure of the values, responses and durations."""
        from blsnb.parity import picture

        return picture.plot(self)

    def save(self, path: str | Path) -> Path:
        """Write a web page that needs no kernel and no network, and return its path.

        Raises
        ------
        ValueError
            The suffix is not ``.html``.
        OSError
            The file cannot be written; an existing file is unchanged.
        """
        from blsnb.files.whole import output_file
        from blsnb.parity import page

        path = path_of(path=path)
        if path.suffix.lower() != ".html":
            raise ValueError(f"a parity is saved as .html, not {path.suffix!r}")
        with output_file(path) as partial:
            partial.write_text(page.whole(self), encoding="utf-8")
        return path
