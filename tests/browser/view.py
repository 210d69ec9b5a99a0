"""The view of one run, found by roles and names as assistive technology finds it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page


class View:
    """The panes of a view.

    Parameters
    ----------
    inside
        The page or the element that holds it.
    """

    def __init__(self, inside: Page | Locator) -> None:
        self.element = inside.locator(".blsnb-view")
        self.graph = self.element.get_by_role("group", name="Call graph")
        self.tree = self.element.get_by_role("tree", name="Timeline of calls")
        self.inspector = self.element.get_by_role("region", name="Inspector")
        self.filter = self.element.get_by_role("searchbox", name="Filter calls")
        self.rows = self.tree.get_by_role("treeitem")
        self.selected_rows = self.tree.get_by_role("treeitem", selected=True)
        self.subject = self.inspector.get_by_role("heading", level=3)
        """The name of what the inspector is about."""

    def box(self, model: str) -> Locator:
        """The box of a model, a button whose name begins with the model's."""
        name = re.compile(rf"^{re.escape(model)}\b")
        return self.graph.get_by_role("button", name=name)

    def row(self, model: str) -> Locator:
        """The rows of a model."""
        return self.tree.get_by_role("treeitem", name=re.compile(rf"^{model}\b"))

    def picture(self, name: str) -> Locator:
        """A histogram, or a tensor's slice, by the beginning of its name."""
        return self.inspector.get_by_role("img", name=name)

    def slider(self, axis: int) -> Locator:
        """The slider along a leading axis of the tensor that is open."""
        return self.inspector.get_by_role("slider", name=f"axis {axis}")

    def tensor(self, name: str) -> Locator:
        """The line of a tensor in the inspector, which opens it."""
        pattern = re.compile(rf"{re.escape(name)}\b")
        return self.inspector.get_by_role("button", name=pattern)
