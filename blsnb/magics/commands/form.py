"""``%triton try``: a form to try a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.display import display

from blsnb.magics import default_server as default
from blsnb.magics.frontend import has_no_models, has_page
from blsnb.magics.line import Line
from blsnb.run import Run

if TYPE_CHECKING:
    from blsnb.form.form import Form

USAGE = "NAME"
SUMMARY = "show a form to fill in a model's inputs and run it"
_EMPTY = {"text/html": "", "text/plain": ""}


def try_model(line: Line) -> None:
    """Show the form of a model in the running cell."""
    words = line.words
    if len(words) != 1:
        raise UsageError(f"usage: %triton try {USAGE}")
    form = default.server().form(words[0])
    form.server_code = "blsnb"
    show(form)


def show(form: Form) -> None:
    """Show a form, and below it the results of its requests.

    A saved notebook keeps the form as a text, and the last result.
    """
    if not (has_no_models() or has_page(get_ipython())):
        display(form.still(), raw=True)
        return
    if has_no_models():
        display(form.widget)
    else:
        display(form.placed(), raw=True)
    results = display(_EMPTY, raw=True, display_id=True)

    def update(shown: Any) -> None:
        if isinstance(shown, Run):
            results.update(shown)
        else:
            results.update({"text/plain": _lines(shown)}, raw=True)

    form.on_result(update)


def _lines(responses: list[Any]) -> str:
    return "\n".join([repr(response) for response in responses])
