"""``%triton SUBCOMMAND``: the subcommands, their dispatch and their help."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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
from blsnb.magics.commands import (
    graph,
    models,
    monitor,
    repositories,
    runtime,
    serve,
    standin,
    stats,
    traces,
    tutorial,
    verify,
)
from blsnb.magics.evaluating import evaluate
from blsnb.magics.flags import Flags, HelpShown
from blsnb.magics.line import Line, request_line
from blsnb.magics.load_tests import bench, plan
from blsnb.magics.watching import watch

_INFER_USAGE = "NAME INPUT=EXPRESSION ... [--profile]"
_INFER_SUMMARY = "run a request; the inputs are Python expressions of the notebook"
_WIDTH = 110
"""Maximum length of a line of the help in characters."""
_EXAMPLES = Path(__file__).with_name("examples.txt")
"""Blocks of one magic or subcommand: a line to type, and below it what it does."""


class Subcommand(NamedTuple):
    """A subcommand of ``%triton``."""

    usage: str
    summary: str
    run: Callable[[Line], Any] | None = None
    """None for the subcommands that `TritonMagics` runs."""
    flags: Callable[[], Flags] | None = None


def _infer_flags() -> Flags:
    flags = Flags("%triton infer NAME INPUT=EXPRESSION ...", f"{_INFER_SUMMARY}.")
    flags.add_argument(
        "--profile",
        action="store_true",
        help="sample the models' Python code, and print the lines that take most time",
    )
    return flags


def _infer(line: Line) -> Any:
    request = request_line(line, _infer_flags(), "%triton infer", _INFER_USAGE)
    if not request.options.profile:
        return default.server().infer(request.name, request.inputs)
    run = default.server().infer(request.name, request.inputs, profile=True)
    print(run.profile)
    return run


SUBCOMMANDS = {
    "models": Subcommand("", "list the models and their states", models.list_models),
    "config": Subcommand(
        models.USAGES["config"],
        "print a model's completed configuration, or one that fits recorded tensors",
        models.print_config,
    ),
    "load": Subcommand(
        models.USAGES["load"],
        "load or reload a model; --watch: again whenever it is saved",
        models.load,
    ),
    "unload": Subcommand(
        models.USAGES["unload"], "stop serving a model", models.unload
    ),
    "remove": Subcommand(
        models.USAGES["remove"], "unload a model and forget it", models.remove
    ),
    "infer": Subcommand(_INFER_USAGE, _INFER_SUMMARY, _infer, _infer_flags),
    "try": Subcommand(
        models.USAGES["try"],
        "show a form to fill in a model's inputs and run it",
        models.try_model,
    ),
    "stats": Subcommand(stats.USAGE, stats.SUMMARY, stats.stats),
    "monitor": Subcommand(monitor.USAGE, monitor.SUMMARY, flags=monitor.monitor_flags),
    "graph": Subcommand(graph.USAGE, graph.SUMMARY, graph.graph, graph.graph_flags),
    "runtime": Subcommand(runtime.USAGE, runtime.SUMMARY, runtime.runtime),
    "log": Subcommand(
        models.USAGES["log"], "print what models have logged", models.print_log
    ),
    "help": Subcommand("[SUBCOMMAND]", "show this text"),
    "import": Subcommand(
        repositories.IMPORT_USAGE,
        repositories.IMPORT_SUMMARY,
        repositories.import_models,
        repositories.import_flags,
    ),
    "export": Subcommand(
        repositories.EXPORT_USAGE,
        repositories.EXPORT_SUMMARY,
        repositories.export_models,
        repositories.export_flags,
    ),
    "diff": Subcommand(
        repositories.DIFF_USAGE, repositories.DIFF_SUMMARY, repositories.diff
    ),
    "edit": Subcommand(
        repositories.EDIT_USAGE, repositories.EDIT_SUMMARY, repositories.edit
    ),
    "trace": Subcommand(traces.USAGE, traces.SUMMARY, traces.trace, traces.trace_flags),
    "standin": Subcommand(
        standin.USAGE, standin.SUMMARY, standin.standin, standin.standin_flags
    ),
    "bench": Subcommand(bench.USAGE, bench.SUMMARY, bench.bench, bench.bench_flags),
    "plan": Subcommand(plan.USAGE, plan.SUMMARY, plan.plan, plan.plan_flags),
    "evaluate": Subcommand(
        evaluate.USAGE, evaluate.SUMMARY, evaluate.evaluate, evaluate.evaluate_flags
    ),
    "serve": Subcommand(serve.USAGE, serve.SUMMARY, flags=serve.serve_flags),
    "verify": Subcommand(
        verify.USAGE, verify.SUMMARY, verify.verify, verify.verify_flags
    ),
    "watch": Subcommand(watch.USAGE, watch.SUMMARY, flags=watch.watch_flags),
    "require": Subcommand(
        tutorial.REQUIRE_USAGE,
        tutorial.REQUIRE_SUMMARY,
        tutorial.require,
        tutorial.require_flags,
    ),
    "tutorial": Subcommand(
        tutorial.USAGE, tutorial.SUMMARY, tutorial.tutorial, tutorial.tutorial_flags
    ),
}


def help_text() -> str:
    """Return the text of ``%triton help``: each subcommand and its summary."""
    rows = []
    for name, subcommand in SUBCOMMANDS.items():
        rows.append(f"{_filled(_usage(name))}\n      {subcommand.summary}")
    listed = "\n".join(rows)
    return (
        f"Look at models, and run them.\n\nusage: %triton SUBCOMMAND ...\n\n{listed}\n"
    )


def help_of(name: str) -> str:
    """Return the text of ``%triton help NAME``: its options and its examples."""
    subcommand = _subcommand(name)
    text = f"{_usage(name)}\n  {subcommand.summary}\n"
    if subcommand.flags is not None:
        text = subcommand.flags().format_help()
    return f"{text}\n{example_text(f'%triton {name}')}"


@cache
def examples() -> dict[str, dict[str, str]]:
    """Return what each example does, by its line, and these by magic or subcommand."""
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
    whole = re.sub(r"\[[^]]*\]", lambda option: option[0].replace(" ", "\xa0"), usage)
    return textwrap.fill(
        whole,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent=" " * 10,
        break_on_hyphens=False,
    ).replace("\xa0", " ")


def _usage(name: str) -> str:
    return f"%triton {name} {SUBCOMMANDS[name].usage}".rstrip()


def _documented(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__doc__ = help_text()
    return function


@magics_class
class TritonMagics(Magics):
    """The magic ``%triton``."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._monitors = monitor.Monitors()
        self._serving = serve.Serving()
        self._watching = watch.Watching()
        self._own: dict[str, Callable[[Line], Any]] = {
            "help": _help,
            "monitor": self._monitors.show,
            "serve": self._serving.run,
            "watch": self._watching.run,
        }

    def close(self) -> None:
        """Close monitors, end points and the receiver of spans."""
        self._monitors.close()
        self._serving.close()
        self._watching.close()

    @no_var_expand
    @needs_local_scope
    @line_magic
    @_documented
    def triton(self, text: str, local_ns: Any = None) -> Any:
        """Run a subcommand; the docstring is replaced by the help."""
        name, _, rest = text.strip().partition(" ")
        name, rest = name or "help", rest.strip()
        run = _subcommand(name).run or self._own[name]
        if rest in ("--help", "-h"):
            run, rest = _help, name
        live = getattr(self.shell, "kernel", None) is not None
        try:
            return run(Line(rest, line.namespace(self.shell, local_ns), live))
        except HelpShown:
            return None


def _help(line: Line) -> None:
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
