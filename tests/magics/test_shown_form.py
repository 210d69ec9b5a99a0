"""A form in a notebook: where it stands, and where its results are shown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from blsnb.magics import display

NOTHING = {"text/html": "", "text/plain": ""}


class Form:
    """A form that notes what calls it."""

    widget = "the widget"

    def __init__(self):
        self.asked = SimpleNamespace()
        self.on_result = lambda call: vars(self.asked).update(result=call)
        self.run_with = lambda call: vars(self.asked).update(run=call)

    def placed(self):
        """Return the form as the page shows it."""
        return "placed"

    def still(self):
        """Return the form as a text."""
        return "still"


@pytest.fixture
def shown(monkeypatch):
    """What is displayed, each with its options, and then updates of the last one."""
    shown = []
    handle = SimpleNamespace(update=lambda *what, **how: shown.append((what, how)))

    def show(*what, **how):
        shown.append((what, how))
        return handle

    monkeypatch.setattr(display, "display", show)
    return shown


def in_place(monkeypatch, *, page, models):
    """Say whether a page runs the cell, and whether it shows widgets of its own."""
    monkeypatch.setattr(display, "has_page", lambda shell: page)
    monkeypatch.setattr(display, "needs_displayed_widgets", lambda: not models)


@pytest.mark.parametrize(
    ("models", "form"),
    [(True, (("placed",), {"raw": True})), (False, (("the widget",), {}))],
)
def test_the_results_of_a_form_replace_each_other_below_it(
    monkeypatch, shown, models, form
):
    """A stream is shown as a line for each response."""
    in_place(monkeypatch, page=True, models=models)
    made = Form()
    display._show_form(made)
    made.asked.result("the run")
    made.asked.result([1, "two"])

    assert display.call_interruptibly is made.asked.run
    assert [
        form,
        ((NOTHING,), {"raw": True, "display_id": True}),
        (("the run",), {}),
        (({"text/plain": "1\n'two'"},), {"raw": True}),
    ] == shown


def test_a_program_shows_a_form_as_a_text(monkeypatch, shown):
    """Nobody could fill it in."""
    in_place(monkeypatch, page=False, models=True)
    display._show_form(made := Form())

    assert [(("still",), {"raw": True})] == shown
    assert {} == vars(made.asked)
