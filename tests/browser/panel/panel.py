"""The panel beside a notebook, as its user meets it."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from ..lab import Lab

CHANGE_MS = 300
"""Time in which a change is visible."""
_WATCH = """([name, state]) => new Promise((resolve) => {
    const panel = document.querySelector(".blsnb-panel");
    const shown = () => [...panel.querySelectorAll(".head")].some((each) =>
        each.querySelector(".name").textContent === name
        && each.querySelector(".state").textContent === state);
    if (shown()) return resolve(Date.now());
    const observer = new MutationObserver(() => {
        if (!shown()) return;
        observer.disconnect();
        resolve(Date.now());
    });
    observer.observe(panel, { subtree: true, childList: true, characterData: true });
})"""


class Panel:
    """The panel, shown.

    Parameters
    ----------
    lab
        The page that it belongs to.
    """

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        lab.page.evaluate("jupyterapp.shell.activateById('blsnb-panel')")
        self.node = lab.page.locator(".blsnb-panel")
        expect(self.node).to_be_visible()
        # Tests share a page, and an earlier one may have chosen another tab. The tabs
        # are hidden until the kernel has loaded blsnb.
        models = self.node.get_by_role("tab", name="Models", include_hidden=True)
        models.dispatch_event("click")

    @property
    def status(self) -> Locator:
        """The line that says what happens."""
        return self.node.get_by_role("status")

    def tab(self, name: str) -> None:
        """Choose a tab."""
        self.node.get_by_role("tab", name=name).click()

    def row(self, name: str) -> Locator:
        """The row of a model or a run."""
        head = self.lab.page.locator(".head").filter(has_text=name)
        return self.node.get_by_role("listitem").filter(has=head)

    def unfold(self, name: str) -> Locator:
        """Show the actions of a row."""
        row = self.row(name)
        toggle = row.locator(".toggle")
        if toggle.get_attribute("aria-expanded") != "true":
            toggle.click()
        return row

    def act(self, name: str, action: str) -> None:
        """Click an action of a row."""
        self.unfold(name).get_by_role("button", name=action, exact=True).click()

    def time_of(self, name: str, state: str) -> float:
        """Wait until a model has a state; return when, in seconds of the epoch."""
        shown_ms: float = self.lab.page.evaluate(_WATCH, [name, state])
        return shown_ms / 1000


def opened(lab: Lab, *cells: str, run: int = 0) -> Panel:
    """Open a notebook and the panel, and run the first cells."""
    lab.write("panel.ipynb", *cells)
    lab.open("panel.ipynb")
    panel = Panel(lab)
    for cell in range(run):
        lab.run_cell(cell)
    return panel
