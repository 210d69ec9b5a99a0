"""The row of one input in a form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from blsnb import views
from blsnb.form.entries import Entry, InputSource
from blsnb.form.inputs import InputSpec
from blsnb.form.random_values import MAX_BYTES, default_shape
from blsnb.form.typed_values import default_text
from blsnb.form.uploads import ACCEPTED, Upload, size_text
from blsnb.printable import counted, printable
from blsnb.views.live.status import ERROR_STYLE

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
        self._changed(
            too_large or f"{printable(name)}: 0 of {counted(size, 'byte')} received."
        )

    def _add(self, piece: bytes) -> None:
        if len(self._content) + len(piece) > self._size or not self._name:
            return
        self._content += piece
        received, size = len(self._content), counted(self._size, "byte")
        done = f"{received:,} of {size}" if received < self._size else size
        self._changed(f"{printable(self._name)}: {done} received.")


_MAX_TYPED = 64
"""Maximum number of elements that a new form offers for typing."""
_NOTE = "color: var(--jp-ui-font-color2, #616161); overflow-wrap: anywhere"
_WIDE = {"width": "auto", "flex": "1 1 16em"}


class InputRow:
    """Widgets for the value of an input, with a line for what is wrong with it."""

    def __init__(self, spec: InputSpec, names: Sequence[str] = ()) -> None:
        sources = list(InputSource)
        if not spec.optional:
            sources.remove(InputSource.NONE)
        self._source = ipywidgets.Dropdown(
            options=[(each.value, each) for each in sources],
            value=_first_source(spec),
            tooltip=f"Source of {printable(spec.name)}",
            layout={"width": "8em"},
        )
        # Only for small inputs: the text of a large one would be megabytes.
        text = default_text(spec) if _is_small(spec) else ""
        kind = ipywidgets.Textarea if spec.datatype == "BYTES" else ipywidgets.Text
        self._typed = kind(value=text, placeholder="[1, 2, 3]", layout=_WIDE)
        if spec.datatype == "BYTES":
            self._typed.placeholder = 'text, or ["one", "two"]'
        self._shape = ipywidgets.Text(
            value=default_shape(spec), description="shape", layout={"width": "18em"}
        )
        self._seed = ipywidgets.BoundedIntText(
            value=0, min=0, max=2**31 - 1, description="seed", layout={"width": "12em"}
        )
        self._file = UploadField(f"File for {printable(spec.name)}", self.show)
        self._variable = ipywidgets.Combobox(
            placeholder="name of a variable", options=list(names), layout=_WIDE
        )
        self._note = ipywidgets.HTML()
        self._editors = ipywidgets.HBox(layout={"flex": "1 1 auto"})
        self._source.observe(self._show_source, "value")
        self._show_source()
        self.widget = self._drawn(spec)

    def entry(self) -> Entry:
        """Return what is entered."""
        source = self._source.value
        text = self._variable if source is InputSource.VARIABLE else self._typed
        return Entry(
            source, text.value, self._shape.value, self._seed.value, self._file.upload
        )

    def show(self, text: str, *, is_error: bool = False) -> None:
        """Show a sentence below the value; nothing for an empty text."""
        role = ' role="alert"' if is_error else ""
        style = ERROR_STYLE if is_error else _NOTE
        line = f'<span style="{style}"{role}>{escape(printable(text))}</span>'
        self._note.value = line if text else ""

    def offer(self, names: Sequence[str]) -> None:
        """Offer other variables."""
        self._variable.options = list(names)

    def _show_source(self, _: Any = None) -> None:
        editors: dict[InputSource, tuple[Any, ...]] = {
            InputSource.TYPED: (self._typed,),
            InputSource.RANDOM: (self._shape, self._seed),
            InputSource.FILE: (self._file,),
            InputSource.VARIABLE: (self._variable,),
            InputSource.NONE: (),
        }
        self._editors.children = editors[self._source.value]
        self.show("")

    def _drawn(self, spec: InputSpec) -> Any:
        title = (
            f"<b>{escape(printable(spec.name))}</b> <code>{escape(str(spec))}</code>"
        )
        if spec.optional:
            title += " optional"
        row = ipywidgets.HBox(
            [self._source, self._editors], layout={"flex_flow": "row wrap"}
        )
        return ipywidgets.VBox([ipywidgets.HTML(title), row, self._note])


def _is_small(spec: InputSpec) -> bool:
    return math.prod([max(1, size) for size in spec.dims]) <= _MAX_TYPED


def _first_source(spec: InputSpec) -> InputSource:
    if spec.optional:
        return InputSource.NONE
    return InputSource.TYPED if _is_small(spec) else InputSource.RANDOM
