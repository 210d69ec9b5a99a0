"""A notebook without a browser: a real IPython shell, its cells and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from blsnb.magics import default_server as default
from blsnb.magics import extension
from blsnb.options import Options, options


@dataclass
class Ran:
    """The result of a cell."""

    outputs: list[dict[str, Any]]
    stdout: str
    stderr: str
    error: BaseException | None
    value: Any

    @property
    def texts(self) -> list[str]:
        return [output["text/plain"] for output in self.outputs]

    @property
    def report(self) -> str:
        """The error as it was displayed."""
        return self.stdout


class Notebook:
    """Runs cells as a kernel does."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.values: list[dict[str, Any]] = []
        hook = shell.displayhook
        hook.write_output_prompt = lambda: None
        hook.write_format_data = lambda data, _=None: self.values.append(data)

    def run(self, cell: str) -> Ran:
        with capture_output() as captured:
            result = self.shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        outputs = [output.data for output in captured.outputs] + self.values
        self.values = []
        return Ran(outputs, captured.stdout, captured.stderr, error, result.result)

    def cell(self, ago: int = 0) -> str:
        """Return the name of the latest cell, or of an earlier one."""
        return f"In[{self.shell.execution_count - 1 - ago}]"


@pytest.fixture(scope="session")
def shell():
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    yield InteractiveShell.instance(config=config)
    InteractiveShell.clear_instance()


@pytest.fixture
def notebook(shell):
    """A shell with only the extension loaded."""
    before = dict(shell.user_ns)
    extension.load_ipython_extension(shell)
    yield Notebook(shell)
    extension.unload_ipython_extension(shell)
    default.close_default()
    for name in set(shell.user_ns) - set(before):
        del shell.user_ns[name]


@pytest.fixture
def settings():
    """The options, which are restored after the test."""
    yield options
    for name in Options.__dataclass_fields__:
        setattr(options, name, getattr(Options(), name))
