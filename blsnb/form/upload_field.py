"""A field that uploads a file in pieces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from blsnb import views
from blsnb.form.random_values import MAX_BYTES
from blsnb.form.uploads import ACCEPTED, Upload, size_text
from blsnb.printable import printable

_CODE = Path(views.__file__).parent / "static" / "upload.js"


class UploadField(anywidget.AnyWidget):
    """A field for a file of at most 32 MB.

    Jupyter's server closes a connection that sends more than 10 MB in one message, so
    that the field of ipywidgets loses larger files.

    Parameters
    ----------
    label
        Name of the field for screen readers.
    changed
        Called with a sentence on the state of the upload.
    """

    _esm = _CODE

    accept = traitlets.Unicode(ACCEPTED, help="offered files").tag(sync=True)
    label = traitlets.Unicode(help="name of the field").tag(sync=True)
    max_bytes = traitlets.Int(MAX_BYTES, help="maximum size").tag(sync=True)

    def __init__(self, label: str, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._id = 0
        self._name = ""
        self._size = 0
        self._content = bytearray()
        super().__init__(label=label)
        self.on_msg(self._on_message)

    @property
    def upload(self) -> Upload | None:
        """The file; None as long as it is not complete."""
        if not self._name or len(self._content) < self._size:
            return None
        return Upload(self._name, bytes(self._content))

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        match content:
            case {"type": "begin", "id": int() as id_, "name": str(), "size": int()}:
                self._id, self._content = id_, bytearray()
                self._begin(content["name"], content["size"])
            case {"type": "piece", "id": int() as id_} if id_ == self._id and buffers:
                self._add(bytes(buffers[0]))

    def _begin(self, name: str, size: int) -> None:
        self._name, self._size = name, size
        too_large = size_text(name, size)
        if too_large:
            self._name = ""
        self._changed(too_large or f"{printable(name)}: 0 of {size:,} bytes received.")

    def _add(self, piece: bytes) -> None:
        if len(self._content) + len(piece) > self._size or not self._name:
            return
        self._content += piece
        received, size = len(self._content), self._size
        done = (
            f"{received:,} of {size:,} bytes" if received < size else f"{size:,} bytes"
        )
        self._changed(f"{printable(self._name)}: {done} received.")
