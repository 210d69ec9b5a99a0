"""The result of a comparison with a real Triton server, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blsnb.parity.agreement import Agreement


@dataclass(frozen=True, repr=False)
class Parity(Agreement):
    """What `blsnb.Server.compare` found.

    Parameters
    ----------
    model_name
        The model that was asked.
    server
        Which real server answered, and its version.
    cases
        One for each request that was made on both.
    notes
        What else there is to know.
    """

    def plot(self) -> Any:
        """Return a matplotlib figure: values, responses and latencies of both."""
        from blsnb.parity import picture

        return picture.plot(self)

    def save(self, path: str | Path) -> Path:
        """Write it as a web page that needs no kernel and no network.

        Raises
        ------
        ValueError
            The suffix is not ``.html``.
        OSError
            The file cannot be written; what stood there before still does.
        """
        from blsnb.files.whole import whole_file
        from blsnb.parity import page

        path = Path(path).expanduser()
        if path.suffix.lower() != ".html":
            raise ValueError(f"a parity is saved as .html, not {path.suffix!r}")
        with whole_file(path) as partial:
            partial.write_text(page.whole(self), encoding="utf-8")
        return path
