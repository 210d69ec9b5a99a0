"""JupyterLab as its user meets it: open, run, save, look."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Locator, Page, TimeoutError

from .lab_server import LabServer

_PANEL = "globalThis.jupyterapp?.shell?.currentWidget"
_LOADED = f"{_PANEL}?.context?.isReady && {_PANEL}.content?.widgets?.length > 0"
IDLE = f"{_LOADED} && {_PANEL}.sessionContext.session?.kernel?.status === 'idle'"
_CODE = f"""{_PANEL}.content.widgets
    .filter((cell) => cell.model.type === "code" && cell.model.sharedModel.source)"""
# A failing cell ends the run; later cells keep waiting forever.
_HAS_RUN = f"""() => {_CODE}.every((cell) => cell.model.executionCount !== null
        && cell.model.executionState !== "running")
    || {_CODE}.some((cell) => (cell.model.outputs?.toJSON() ?? [])
        .some((output) => output.output_type === "error"))"""
_STATES = f"""() => [{_PANEL}.sessionContext.session?.kernel?.status,
    ...{_CODE}.map((cell) => `${{cell.model.executionState}} `
        + cell.model.sharedModel.source.split("\\n", 1)[0])].join("\\n")"""
# A launcher takes the place of the last notebook. A dialog, as of a kernel that died,
# is not closed with its notebook.
_IS_CLEAR = """globalThis.jupyterapp !== undefined
    && document.querySelector(".jp-Dialog") === null
    && [...jupyterapp.shell.widgets("main")].every((each) => !each.context)"""
_IS_LOADED = "globalThis.jupyterapp !== undefined"
# A disposed document is neither saved nor asked about.
_CLEAR = """(async () => {
    if (globalThis.jupyterapp === undefined) return;
    await jupyterapp.commands.execute(
        "apputils:change-theme", { theme: "JupyterLab Light" });
    for (const each of [...jupyterapp.shell.widgets("main")]) each.dispose();
})()"""
# Views find one another's code and kernels there.
_FORGET = """() => {
    for (const key of Object.getOwnPropertySymbols(globalThis))
        if (key.description.startsWith("blsnb")) delete globalThis[key];
}"""
_POLL_MS = 50
_PATIENCE_S = 120
"""How long a notebook may run on a machine with other work."""
# JupyterLab rejects a scroll that another one replaces, as one to an inserted cell.
_SCROLL = f"""(async (index) => {{
    const notebook = {_PANEL}.content;
    notebook.activeCellIndex = index;
    const scroll = () => notebook.scrollToItem(index, "start");
    await scroll().catch(scroll);
}})(given)"""
_OUTPUT_ERRORS = f"""() => {_PANEL}.content.widgets
    .flatMap((cell) => cell.model.outputs?.toJSON() ?? [])
    .filter((output) => output.output_type === "error")
    .map((output) => output.evalue)"""


def clear(page: Page) -> None:
    """Close all that is open in a page of JupyterLab."""
    _settle(page, _CLEAR)


def _settle(page: Page, promise: str, given: Any = None) -> None:
    # The page keeps it: V8 may collect a promise for which only the debugging protocol
    # waits, and Playwright then fails.
    page.evaluate(
        f"(given) => globalThis.settling = ({promise})?.then?.(() => 0)", given
    )


class Lab:
    """One notebook open in JupyterLab.

    Parameters
    ----------
    page
        The browser's page.
    server
        Serves it, and the notebooks.
    other_page
        Returns a page for readers, in which no notebook has a kernel.
    """

    def __init__(
        self,
        page: Page,
        server: LabServer,
        other_page: Callable[[], Page] | None = None,
    ) -> None:
        self.page = page
        self.server = server
        self._other_page = other_page
        self._has_opened = False

    def write(self, name: str, *cells: str) -> Path:
        """Make a notebook of code cells; one that begins with ``#`` is a heading."""
        make = {True: nbformat.v4.new_markdown_cell, False: nbformat.v4.new_code_cell}
        made = [make[cell.startswith("# ")](cell) for cell in cells]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = nbformat.v4.new_notebook(cells=made, metadata=kernel)
        return self.put(name, nbformat.writes(notebook))

    def put(self, name: str, text: str) -> Path:
        """Write a notebook's text where the server finds it."""
        path = self.server.notebooks / name
        path.write_text(text, encoding="utf-8")
        return path

    def wait_for(
        self, condition: str, *, arg: Any = None, timeout: float | None = None
    ) -> None:
        """Wait for a condition in the page.

        Playwright would evaluate it in each frame, of which the page then draws sixty
        a second.
        """
        self.page.wait_for_function(
            condition, arg=arg, timeout=timeout, polling=_POLL_MS
        )

    def open(self, name: str) -> None:
        """Open a notebook in an empty workspace and wait for its kernel.

        The page is loaded, or loaded again, unless an earlier test has loaded it.
        """
        if not self._has_opened and self.page.evaluate(_IS_CLEAR):
            self.command("docmanager:open", path=name)
        else:
            self.page.goto(self.server.address(name))
        self._has_opened = True
        self.wait_for(IDLE)
        self.page.evaluate("jupyterapp.shell.collapseLeft()")

    def open_beside(self, name: str, *, kernel: bool = True) -> None:
        """Open a notebook in a further tab of the page, or return to its tab."""
        if not self.page.evaluate(_IS_LOADED):
            self._load()
        preference = {} if kernel else {"kernelPreference": {"shouldStart": False}}
        self.command("docmanager:open", path=name, **preference)
        self.wait_for(f"{_PANEL}?.context?.path === {json.dumps(name)}")
        self.wait_for(IDLE if kernel else _LOADED)
        self.page.evaluate("jupyterapp.shell.collapseLeft()")

    def restart_kernel(self) -> None:
        """Restart the kernel of the notebook, and wait for it."""
        self.settle(f"{_PANEL}.sessionContext.restartKernel()")
        self.wait_for(IDLE)

    def open_without_kernel(self, name: str) -> None:
        """Open a notebook in a page that has shown no kernel's; choose "No Kernel"."""
        if self._other_page is None:
            self._load()
        else:
            self.page = self._other_page()
            self.page.evaluate(_FORGET)
        self.open_beside(name, kernel=False)

    def command(self, name: str, **arguments: Any) -> None:
        """Do what a menu does; it is waited for."""
        self.settle("jupyterapp.commands.execute(...given)", [name, arguments])

    def settle(self, promise: str, given: Any = None) -> None:
        """Wait until a promise of the page is settled; what it gives is dropped."""
        _settle(self.page, promise, given)

    def start(self) -> None:
        """Start to run all cells."""
        self.page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")

    def wait_until_run(self) -> None:
        """Wait until every code cell has run; an error in one of them fails."""
        try:
            self.wait_for(_HAS_RUN, timeout=_PATIENCE_S * 1000)
        except TimeoutError as error:
            states = self.page.evaluate(_STATES)
            raise AssertionError(f"the cells have not run:\n{states}") from error
        assert [] == self.page.evaluate(_OUTPUT_ERRORS)

    def run_all(self) -> None:
        """Run all cells and wait for the last one."""
        self.start()
        self.wait_until_run()

    def run_cell(self, index: int) -> None:
        """Run one cell, which may not have run before, and wait for it."""
        cell = f"{_PANEL}.content.widgets[{index}].model"
        before = self.page.evaluate(f"{cell}.executionCount ?? 0")
        self.settle(_SCROLL, index)
        self.command("notebook:run-cell")
        self.wait_for(
            f"({cell}.executionCount ?? 0) > {before}"
            f" && {cell}.executionState !== 'running'",
            timeout=_PATIENCE_S * 1000,
        )
        assert [] == self.page.evaluate(_OUTPUT_ERRORS)

    def save(self) -> None:
        """Save the notebook."""
        self.command("docmanager:save")

    def shut_down_kernel(self) -> None:
        """End the kernel of the notebook, if it has one."""
        self.settle(f"{_PANEL}?.sessionContext?.shutdown?.()")

    def shut_down_kernels(self) -> None:
        """End the kernels of all notebooks of the server."""
        if self.page.evaluate(_IS_LOADED):
            self.settle("jupyterapp.serviceManager.sessions.shutdownAll()")

    def _load(self) -> None:
        """Load JupyterLab, or load it again, with nothing open."""
        self._has_opened = True
        self.page.goto(self.server.front)
        self.wait_for("globalThis.jupyterapp?.restored")
        self.settle("jupyterapp.restored")

    @property
    def has_kernel(self) -> bool:
        """Whether the notebook is connected to one."""
        found = self.page.evaluate(f"Boolean({_PANEL}.sessionContext.session?.kernel)")
        return bool(found)

    def theme(self, name: str) -> None:
        """Change the theme, and wait until the page reports it."""
        self.command("apputils:change-theme", theme=f"JupyterLab {name}")
        light = json.dumps(str(name == "Light").lower())
        self.wait_for(
            f"document.body.dataset.jpThemeLight === {light}"
            " && !document.getElementById('jupyterlab-splash')"
        )

    def cell(self, index: int) -> Locator:
        """A cell, scrolled into view: others need not be in the page."""
        self.settle(_SCROLL, index)
        shown = ".jp-NotebookPanel:not(.lm-mod-hidden)"
        cell = self.page.locator(
            f'{shown} .jp-Cell[data-windowed-list-index="{index}"]'
        )
        cell.wait_for()
        return cell

    def cell_index(self, id_: str) -> int:
        """The position of a cell by its id in the file."""
        ids = self.page.evaluate(
            f"{_PANEL}.content.widgets.map((cell) => cell.model.id)"
        )
        found: int = ids.index(id_)
        return found

    @property
    def cell_count(self) -> int:
        """How many cells the notebook has."""
        count: int = self.page.evaluate(f"{_PANEL}.content.widgets.length")
        return count
