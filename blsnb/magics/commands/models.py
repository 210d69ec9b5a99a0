"""Subcommands of ``%triton`` on models: list, configuration, load, unload, log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import only_word, usage_of
from blsnb.magics.line import Line
from blsnb.parts.server_parts import parts_of
from blsnb.printable import counted
from blsnb.results.run import Run

if TYPE_CHECKING:
    from blsnb.repository.status import ModelStatus

_MAX_LOG_LINES = 200
"""Maximum number of log lines printed."""


def list_models(line: Line) -> None:
    """Show a table of all models."""
    if line.text:
        raise UsageError("usage: %triton models")
    statuses = default.server().models()
    if statuses:
        display(card.table(statuses), raw=True)
    else:
        print("There are no models yet; define one in a %%triton_model cell.")


def print_config(line: Line) -> None:
    """Print a model's completed configuration, or one implied by recorded runs."""
    match line.words:
        case [name]:
            print(default.server().config_text(name))
        case [name, "--from-run", *runs]:
            found = [run_of(word, line.namespace) for word in runs]
            print(default.server().model(name).implied_config(*found).text())
        case _:
            raise UsageError(f"usage: {usage_of('config')}")


def try_model(line: Line) -> None:
    """Show a form to try a model."""
    form = default.server().form(only_word(line, "try"))
    form.server_code = "blsnb"
    display(form)


def load(line: Line) -> ModelStatus:
    """Load a model, and watch its files if ``--watch`` is given."""
    names = [word for word in line.words if word != "--watch"]
    if len(names) != 1 or names[0].startswith("--"):
        raise UsageError(f"usage: {usage_of('load')}")
    [name] = names
    status = default.server().load(name)
    if "--watch" in line.words:
        default.server().watch(name)
    return status


def unload(line: Line) -> ModelStatus:
    """Stop serving a model."""
    name = only_word(line, "unload")
    server = default.server()
    _check_known(name)
    server.unload(name)
    return server.model(name)


def remove(line: Line) -> None:
    """Unload a model and remove its folder."""
    name = only_word(line, "remove")
    default.server().remove(name)
    print(f"{name} is removed.")


def print_log(line: Line) -> None:
    """Print the log lines of all models, or of one."""
    names = line.words
    if len(names) > 1:
        raise UsageError(f"usage: {usage_of('log')}")
    lines = [
        f"{each.level[0]} {each.model}: {each.text}"
        for each in list(default.server().log.lines)
        if each.model in names or not names
    ]
    if names and not lines:
        _check_known(names[0])
    left_out = len(lines) - _MAX_LOG_LINES
    if left_out > 0:
        print(f"… {counted(left_out, 'earlier line')}")
    print("\n".join(lines[-_MAX_LOG_LINES:]) or "Nothing has been logged.")


def _check_known(name: str) -> None:
    repository = parts_of(default.server()).repository
    if name not in repository.names():
        known = repository.known_names(name)
        raise UsageError(f"there is no model {name!r}; there are: {known}")


def run_of(word: str, namespace: Mapping[str, Any]) -> Run:
    """Return the run that a variable holds."""
    run = namespace.get(word)
    if not isinstance(run, Run):
        raise UsageError(f"{word!r} is not a variable that holds a run")
    return run
