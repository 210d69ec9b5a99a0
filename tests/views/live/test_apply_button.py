"""The button that applies a plan: what it says before, during and after a click."""

from __future__ import annotations

import pytest
from widget_tree import widget_tree

from blsnb.errors import RepositoryError
from blsnb.views.live.apply_button import ApplyButton

EQUAL = "The models have this configuration."


class Plan:
    """A plan whose models, or whose fault, a test chooses."""

    def __init__(self, models, fault=None):
        self.models, self.fault = models, fault

    def unapplied(self):
        """Return the models."""
        return self.models

    def apply(self):
        """Fail, or change all models."""
        if self.fault is not None:
            raise self.fault
        models, self.models = self.models, []
        return models

    def changes(self, models):
        """Return the names, or fail for an unknown model."""
        if "unknown" in models:
            raise RepositoryError("no model 'unknown'")
        return " & ".join(models)


def shown(found):
    """Return what the page shows of a button: the sentence, and whether it is off."""
    return found.status.value.split(">", 1)[1].removesuffix("</div>")


def test_the_button_has_a_sentence_beside_it():
    """It is announced by screen readers."""
    found = ApplyButton(Plan(["a", "b"]))

    assert (
        "Button description='Apply' "
        "tooltip='change config.pbtxt of the models to the best configuration' "
        "layout.flex='0 0 auto'\n"
    ) == widget_tree(found.button)
    assert found.status.value.startswith('<div role="status" ')
    assert "To be applied: a &amp; b." == shown(found)


@pytest.mark.parametrize(
    ("plan", "before", "after", "role"),
    [
        (Plan(["a"]), "To be applied: a.", "Applied: a.", "status"),
        (Plan([]), EQUAL, EQUAL, "status"),
        (
            Plan(["a"], RepositoryError("locked")),
            "To be applied: a.",
            "locked",
            "alert",
        ),
        (
            Plan(["a"], KeyboardInterrupt()),
            "To be applied: a.",
            "Interrupted: nothing was changed.",
            "alert",
        ),
    ],
)
def test_a_click_says_what_it_changed(plan, before, after, role):
    """It may be repeated, also after a failure; the button is off until it ends."""
    works = []
    found = ApplyButton(plan, works.append)
    said = [(shown(found), found.button.disabled)]
    found.button.click()
    said.append((shown(found), found.button.disabled))
    works.pop()()
    said.append((shown(found), found.button.disabled))

    assert [(before, False), ("Applying …", True), (after, False)] == said
    assert found.status.value.startswith(f'<div role="{role}" ')


def test_a_plan_that_has_no_configuration_cannot_be_applied():
    """The sentence is the reason."""
    found = ApplyButton(Plan(["unknown"]))

    assert ("no model 'unknown'", True) == (
        shown(found).replace("&#x27;", "'"),
        found.button.disabled,
    )


def test_a_click_works_at_once_without_another_thread():
    """A script has none."""
    found = ApplyButton(Plan(["a"]))
    found.button.click()

    assert ("Applied: a.", False) == (shown(found), found.button.disabled)
