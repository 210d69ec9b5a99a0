"""``%triton SUBCOMMAND``: the subcommands, their dispatch and their help."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)

from blsnb.magics import default_server as default
from blsnb.magics import line
from blsnb.magics.commands.usages import SUMMARIES, usage_of
from blsnb.magics.flags import Flags, HelpShown, documented
from blsnb.magics.line import Line, request_line

_WIDTH = 110
"""Maximum length of a line of the help in characters."""
_EXAMPLES = Path(__file__).with_name("examples.txt")
"""Blocks of one magic or subcommand: a line to type, and below it what it does."""


class SubcommandOwner(Protocol):
    """Runs a subcommand, and owns what it opened until the extension is unloaded."""

    def run(self, line: Line) -> Any:
        """Run the subcommand."""

    def close(self) -> None:
        """Close what the subcommand opened."""


class Subcommand(NamedTuple):
    """A subcommand of ``%triton``. Its module is imported at its first use."""

    name: str
    module: str
    """Name of the module in `blsnb.magics`."""
    function: str = ""
    """Name of the function that runs it; empty if its owner does."""
    parser: str = ""
    """Name of the function that returns its parser; empty if it has no parser."""
    owner: str = ""
    """Name of the class of its `SubcommandOwner`; empty if it has none."""

    @property
    def run(self) -> Callable[[Line], Any] | None:
        """The function that runs it; None if its owner does."""
        run: Callable[[Line], Any] | None = self._imported(self.function)
        return run

    @property
    def flags(self) -> Callable[[], Flags] | None:
        """Returns its parser; None if it has no parser."""
        flags: Callable[[], Flags] | None = self._imported(self.parser)
        return flags

    def new_owner(self) -> SubcommandOwner:
        """Return an owner of what it opens."""
        owner: SubcommandOwner = self._imported(self.owner)()
        return owner

    def _imported(self, name: str) -> Any:
        if not name:
            return None
        return getattr(importlib.import_module(f"blsnb.magics.{self.module}"), name)


def infer_flags() -> Flags:
    """Return the parser of ``%triton infer``'s options."""
    flags = Flags("%triton infer NAME INPUT=EXPRESSION ...", f"{SUMMARIES['infer']}.")
    flags.add_argument(
        "--profile",
        action="store_true",
        help="sample the models' Python code, and print the lines that take most time",
    )
    return flags


def infer(line: Line) -> Any:
    """Run a request and return its run."""
    name, inputs, options = request_line(line, infer_flags(), usage_of("infer"))
    run = default.server().infer(name, inputs, profile=options.profile)
    if options.profile:
        print(run.profile)
    return run


SUBCOMMANDS = {
    each.name: each
    for each in (
        Subcommand("models", "commands.models", "list_models"),
        Subcommand("config", "commands.models", "print_config"),
        Subcommand("load", "commands.models", "load"),
        Subcommand("unload", "commands.models", "unload"),
        Subcommand("remove", "commands.models", "remove"),
        Subcommand("infer", "commands.subcommands", "infer", "infer_flags"),
        Subcommand("try", "commands.models", "try_model"),
        Subcommand("stats", "commands.stats", "stats"),
        Subcommand("monitor", "commands.monitor", "", "monitor_flags", "Monitors"),
        Subcommand("graph", "commands.graph", "graph", "graph_flags"),
        Subcommand("runtime", "commands.runtime", "runtime"),
        Subcommand("log", "commands.models", "print_log"),
        Subcommand("help", "commands.subcommands", "show_help"),
        Subcommand("import", "commands.repositories", "import_models", "import_flags"),
        Subcommand("export", "commands.repositories", "export_models", "export_flags"),
        Subcommand("diff", "commands.repositories", "diff"),
        Subcommand("edit", "commands.repositories", "edit"),
        Subcommand("trace", "commands.traces", "trace", "trace_flags"),
        Subcommand("standin", "commands.standin", "standin", "standin_flags"),
        Subcommand("bench", "load_tests.bench", "bench", "bench_flags"),
        Subcommand("plan", "load_tests.plan", "plan", "plan_flags"),
        Subcommand("evaluate", "evaluating.evaluate", "evaluate", "evaluate_flags"),
        Subcommand("serve", "commands.serve", "", "serve_flags", "Serving"),
        Subcommand("verify", "commands.verify", "verify", "verify_flags"),
        Subcommand("watch", "watching.watch", "", "watch_flags", "Watching"),
        Subcommand("require", "commands.tutorial", "require", "require_flags"),
        Subcommand("tutorial", "commands.tutorial", "tutorial", "tutorial_flags"),
    )
}


def help_text() -> str:
    """Return the text of ``%triton help``: each subcommand and its summary."""
    listed = "\n".join(
        f"{_filled(usage_of(name))}\n      {SUMMARIES[name]}" for name in SUBCOMMANDS
    )
    return (
        f"Look at models, and run them.\n\nusage: %triton SUBCOMMAND ...\n\n{listed}\n"
    )


def help_of(name: str) -> str:
    """Return the text of ``%triton help NAME``: its options and its examples."""
    subcommand = _subcommand(name)
    text = f"{usage_of(name)}\n  {SUMMARIES[name]}\n"
    if subcommand.flags is not None:
        text = subcommand.flags().format_help()
    return f"{text}\n{example_text(f'%triton {name}')}"


@cache
def examples() -> dict[str, dict[str, str]]:
    """Return the examples by magic or subcommand: what each does, by its line."""
    found: dict[str, dict[str, str]] = {}
    for block in _EXAMPLES.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        words = lines[0].split()
        name = " ".join(words[:2] if words[0] == "%triton" else words[:1])
        does = (line.strip() for line in lines[1::2])
        found[name] = dict(zip(lines[::2], does, strict=True))
    return found


def example_text(name: str) -> str:
    """Return the examples of a magic or a subcommand as the end of its help."""
    rows = [f"  {line}\n      {does}\n" for line, does in examples()[name].items()]
    return f"examples:\n{''.join(rows)}"


def _filled(usage: str) -> str:
    """Break a long usage between its options."""
    if len(usage) < _WIDTH - 2:
        return f"  {usage}"
    whole = re.sub(r"\[[^]]*\]", lambda option: option[0].replace(" ", "\xa0"), usage)
    return textwrap.fill(
        whole,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent=" " * 10,
        break_on_hyphens=False,
    ).replace("\xa0", " ")


@magics_class
class TritonMagics(Magics):
    """The magic ``%triton``."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._owners: dict[str, SubcommandOwner] = {}

    def close(self) -> None:
        """Close all monitors, end points and the receiver of spans."""
        with contextlib.ExitStack() as closing:
            for owner in self._owners.values():
                closing.callback(owner.close)

    @no_var_expand
    @needs_local_scope
    @line_magic
    @documented(help_text())
    def triton(self, text: str, local_ns: Any = None) -> Any:
        """Run a subcommand; the docstring is replaced by the help."""
        name, _, rest = text.strip().partition(" ")
        name, rest = name or "help", rest.strip()
        subcommand = _subcommand(name)
        if rest in ("--help", "-h"):
            subcommand, rest = SUBCOMMANDS["help"], name
        live = getattr(self.shell, "kernel", None) is not None
        try:
            run = self._run_of(subcommand)
            return run(Line(rest, line.namespace(self.shell, local_ns), live))
        except HelpShown:
            return None

    def _run_of(self, subcommand: Subcommand) -> Callable[[Line], Any]:
        run = subcommand.run
        if run is not None:
            return run
        if subcommand.name not in self._owners:
            self._owners[subcommand.name] = subcommand.new_owner()
        return self._owners[subcommand.name].run


def show_help(line: Line) -> None:
    """Print the help of ``%triton``, or of one subcommand."""
    print(help_of(line.text) if line.text else f"{help_text()}\n", end="")


def _subcommand(name: str) -> Subcommand:
    """Return a subcommand; raise an error for an unknown name."""
    if name in SUBCOMMANDS:
        return SUBCOMMANDS[name]
    close = difflib.get_close_matches(name, SUBCOMMANDS, 1)
    similar = f" Did you mean %triton {close[0]}?" if close else ""
    raise UsageError(
        f"%triton has no subcommand {name!r}.{similar} There are: "
        f"{', '.join(SUBCOMMANDS)}. %triton help explains them."
    )
