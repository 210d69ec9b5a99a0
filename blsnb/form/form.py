"""A model's inputs as widgets, and the request that they make."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import Any, NamedTuple

import ipywidgets
import numpy as np

from blsnb.errors import BlsnbError, InferenceError
from blsnb.form.entries import read_entries
from blsnb.form.input_row import InputRow
from blsnb.form.inputs import input_specs, still
from blsnb.form.options import OptionsBox, request_options
from blsnb.form.request import Sends, request_code, send
from blsnb.form.value import FieldError, Value
from blsnb.parts.model_reports import ModelReports
from blsnb.printable import counted, printable
from blsnb.request_fields import RequestOptions
from blsnb.results.response import Response
from blsnb.results.run import Run
from blsnb.views.live.placed_widget import PlacedWidget
from blsnb.views.live.status import sentence

_MAX_NAMES = 100
"""Maximum number of variables that are offered."""
_COPIED = {
    "inserted": "The cell is inserted below.",
    "copied": "The code is in the clipboard: paste it into a cell.",
}


class _Request(NamedTuple):
    values: dict[str, Value]
    options: RequestOptions


class Form:
    """A form to try a model: display it, fill it in, and press *Run*.

    Parameters
    ----------
    server
        Runs the requests.
    name
        Name of the model.
    models
        The server's models.

    Attributes
    ----------
    widget
        The form as a widget.
    run
        The run of the last request; None before the first one.
    server_code
        Python expression of the server in copied code.

    Raises
    ------
    InferenceError
        The model is not ready.
    """

    def __init__(self, server: Sends, name: str, models: ModelReports) -> None:
        self._server = server
        self._name = name
        self._models = models
        self._show: Callable[[Run | list[Response]], None] | None = None
        self._placed: PlacedWidget | None = None
        self._call: Callable[[Callable[[], None]], None] = lambda request: request()
        self.server_code = "server"
        self.run: Run | None = None
        config = models.served_config(name)
        self._specs = input_specs(config)
        self._outputs = [output.name for output in config.outputs]
        names = variable_names(notebook_variables())
        self._rows = {each: InputRow(spec, names) for each, spec in self._specs.items()}
        self._options = OptionsBox(
            self._outputs, config.message.HasField("sequence_batching")
        )
        self._status = ipywidgets.HTML()
        self._code = ipywidgets.Textarea(
            layout={"width": "100%", "height": "8em", "display": "none"}
        )
        self.widget = self._drawn()

    def __repr__(self) -> str:
        return printable(f"<Form of {self._name}: {', '.join(self._specs)}>")

    def still(self) -> dict[str, str]:
        """Return the form as a text, for readers without a kernel."""
        return still(self._name, self._specs)

    def placed(self) -> dict[str, str]:
        """Return the text with a script that puts the widget in its place."""
        if self._placed is None:
            self._placed = PlacedWidget(self.widget, self._show_copied)
        shown = self.still()
        return {**shown, "text/html": self._placed.document(shown["text/html"])}

    def on_result(self, show: Callable[[Run | list[Response]], None]) -> None:
        """Show each run with a function; it receives the responses of a stream, too."""
        self._show = show

    def run_with(self, call: Callable[[Callable[[], None]], None]) -> None:
        """Let a function call the request of *Run*, perhaps on a thread."""
        self._call = call

    def code(self) -> str | None:
        """Return the cell that sends the request; None if an entry is invalid."""
        request = self._read()
        if request is None:
            return None
        is_stream = self._models.served_config(self._name).decoupled
        return request_code(
            self._name,
            request.values,
            request.options,
            server=self.server_code,
            streams=is_stream,
        )

    def submit(self) -> Run | None:
        """Send the request and show its run.

        Returns
        -------
        Run or None
            The run, also of a failed request; None if it was not sent, or after Ctrl-C.
        """
        request = self._read()
        if request is None:
            return None
        self._say("Running …")
        began = time.perf_counter()
        try:
            run: Run | None = self._send(request)
            self._say(f"Done in {(time.perf_counter() - began) * 1e3:,.1f} ms.")
        except BlsnbError as error:
            run = error.run if isinstance(error, InferenceError) else None
            self._say(str(error), is_error=True)
        except KeyboardInterrupt:
            run = None
            self._say("Interrupted.", is_error=True)
        if run is not None:
            self.run = run
            self._show_result(run)
        return run

    def _send(self, request: _Request) -> Run:
        inputs = {name: value.value for name, value in request.values.items()}
        is_stream = self._models.served_config(self._name).decoupled
        arrived = self._arrived if is_stream else None
        return send(self._server, self._name, inputs, request.options, arrived)

    def _arrived(self, count: int, latest: list[Response]) -> None:
        self._say(f"Running … {counted(count, 'response')}")
        self._show_result(latest)

    def _show_result(self, result: Run | list[Response]) -> None:
        if self._show is not None:
            self._show(result)

    def _read(self) -> _Request | None:
        """Return the request, or show what is wrong with it."""
        self._say("")
        self._code.layout.display = "none"
        try:
            if input_specs(self._models.served_config(self._name)) != self._specs:
                raise FieldError(
                    f"The inputs of {self._name} have changed: make a new form."
                )
            values = self._values()
            if values is None:
                return None
            options = self._options.entered()
            return _Request(values, request_options(self._name, options, self._outputs))
        except (InferenceError, FieldError) as error:
            self._say(str(error), is_error=True)
            return None

    def _values(self) -> dict[str, Value] | None:
        """Return the values; show what is wrong beside its input."""
        variables = notebook_variables()
        entries = {name: row.entry() for name, row in self._rows.items()}
        reading = read_entries(entries, self._specs, variables)
        for name, row in self._rows.items():
            row.offer(variable_names(variables))
            value = reading.values.get(name)
            row.show(value.note if value else "")
        for name, error in reading.errors.items():
            self._rows[name].show(error, is_error=True)
        return None if reading.errors else reading.values

    def _copy(self) -> None:
        code = self.code()
        if code is None:
            return
        self._code.value = code
        if self._placed is None:
            self._show_copied("failed")
        else:
            self._placed.insert(code)

    def _show_copied(self, result: str) -> None:
        self._say(_COPIED.get(result, "Copy this code into a cell:"))
        self._code.layout.display = "none" if result in _COPIED else "block"

    def _say(self, text: str, *, is_error: bool = False) -> None:
        self._status.value = sentence(text, is_error=is_error)

    def _drawn(self) -> Any:
        title = ipywidgets.HTML(f"<h4>Try {escape(printable(self._name))}</h4>")
        run = ipywidgets.Button(description="Run", button_style="primary")
        copy = ipywidgets.Button(description="Copy as code")
        run.on_click(self._pressed)
        copy.on_click(lambda _: self._copy())
        rows = [row.widget for row in self._rows.values()]
        buttons = ipywidgets.HBox([run, copy])
        return ipywidgets.VBox(
            [title, *rows, self._options.widget, buttons, self._status, self._code]
        )

    def _pressed(self, button: Any) -> None:
        button.disabled = True
        self._call(partial(self._submit_for, button))

    def _submit_for(self, button: Any) -> None:
        try:
            self.submit()
        finally:
            button.disabled = False


def notebook_variables() -> Mapping[str, Any]:
    """Return the variables of the notebook by name."""
    return vars(sys.modules["__main__"])


def variable_names(variables: Mapping[str, Any]) -> list[str]:
    """Return the names of variables that can be inputs, newest first."""
    kinds = (np.ndarray, list, int, float, str, bytes)
    found = [
        name
        for name, value in reversed(list(variables.items()))
        if isinstance(value, kinds) and not name.startswith("_")
    ]
    return found[:_MAX_NAMES]
