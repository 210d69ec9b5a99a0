"""Subcommands of ``%triton`` on models: list, configuration, load, unload, log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import USAGES
from blsnb.magics.line import Line
from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.repository.status import ModelStatus
    from blsnb.results.run import Run

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
            raise _usage_error("config")


def try_model(line: Line) -> None:
    """Show a form to try a model."""
    words = line.words
    if len(words) != 1:
        raise _usage_error("try")
    form = default.server().form(words[0])
    form.server_code = "blsnb"
    display(form)


def load(line: Line) -> ModelStatus:
    """Load a model, and watch its files if ``--watch`` is given."""
    names = [word for word in line.words if word != "--watch"]
    if len(names) != 1 or names[0].startswith("--"):
        raise _usage_error("load")
    [name] = names
    status = default.server().load(name)
    if "--watch" in line.words:
        default.server().watch(name)
    return status


def unload(line: Line) -> ModelStatus:
    """Stop serving a model."""
    name, *more = line.words or [""]
    if more or not name:
        raise _usage_error("unload")
    server = default.server()
    _check_known(name)
    server.unload(name)
    return server.model(name)


def remove(line: Line) -> None:
    """Unload a model and remove its folder."""
    name, *more = line.words or [""]
    if more or not name:
        raise _usage_error("remove")
    default.server().remove(name)
    print(f"{name} is removed.")


def print_log(line: Line) -> None:
    """Print the log lines of all models, or of one."""
    names = line.words
    if len(names) > 1:
        raise _usage_error("log")
    lines = [
        f"{each.level[0]} {each.model}: {each.text}"
        for each in list(default.server().log.lines)
        if each.model in names or not names
    ]
    if names and not lines:
        _check_known(names[0])
    left_out = len(lines) - _MAX_LOG_LINES
    if left_out > 0:
        print(f"… {left_out:,} earlier lines")
    print("\n".join(lines[-_MAX_LOG_LINES:]) or "Nothing has been logged.")


def _check_known(name: str) -> None:
    names = parts_of(default.server()).repository.names()
    if name not in names:
        known = ", ".join(names) or "none"
        raise UsageError(f"there is no model {name!r}; there are: {known}")


def run_of(word: str, namespace: Mapping[str, Any]) -> Run:
    """Return the run that a variable holds."""
    from blsnb.results.run import Run

    run = namespace.get(word)
    if not isinstance(run, Run):
        raise UsageError(f"{word!r} is not a variable that holds a run")
    return run


def _usage_error(subcommand: str) -> UsageError:
    return UsageError(f"usage: %triton {subcommand} {USAGES[subcommand]}".rstrip())
