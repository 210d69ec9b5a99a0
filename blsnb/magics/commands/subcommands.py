"""``%triton SUBCOMMAND``: the subcommands, their dispatch and their help."""

from __future__ import annotations

import difflib
from collections.abc import Callable
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
    bench,
    models,
    monitor,
    runtime,
    serve,
    standin,
    stats,
    traces,
    tutorial,
    verify,
)
from blsnb.magics.flags import Flags, HelpShown

Namespace = dict[str, Any]
_INFER_USAGE = "NAME INPUT=EXPRESSION ..."


class Subcommand(NamedTuple):
    """A subcommand: its usage, its summary, and its method of `TritonMagics`."""

    usage: str
    summary: str
    method: str
    flags: Callable[[], Flags] | None = None


SUBCOMMANDS = {
    "models": Subcommand(
        models.USAGES["models"], "list the models and their states", "_models"
    ),
    "config": Subcommand(
        models.USAGES["config"],
        "print a model's completed configuration, or one that fits recorded tensors",
        "_config",
    ),
    "load": Subcommand(
        models.USAGES["load"],
        "load or reload a model; --watch: again whenever it is saved",
        "_load",
    ),
    "unload": Subcommand(models.USAGES["unload"], "stop serving a model", "_unload"),
    "infer": Subcommand(
        _INFER_USAGE,
        "run a request; the inputs are Python expressions of the notebook",
        "_infer",
    ),
    "stats": Subcommand(stats.USAGE, stats.SUMMARY, "_stats"),
    "monitor": Subcommand("", monitor.SUMMARY, "_monitor"),
    "runtime": Subcommand(runtime.USAGE, runtime.SUMMARY, "_runtime"),
    "log": Subcommand(models.USAGES["log"], "print what models have logged", "_log"),
    "help": Subcommand("[SUBCOMMAND]", "show this text", "_help"),
    "import": Subcommand(
        models.USAGES["import"], "load the models of a repository on disk", "_import"
    ),
    "export": Subcommand(
        models.USAGES["export"], "write a model repository for Triton", "_export"
    ),
    "trace": Subcommand(traces.USAGE, traces.SUMMARY, "_trace", traces.trace_flags),
    "standin": Subcommand(
        standin.USAGE, standin.SUMMARY, "_standin", standin.standin_flags
    ),
    "bench": Subcommand(bench.USAGE, bench.SUMMARY, "_bench", bench.bench_flags),
    "serve": Subcommand(serve.USAGE, serve.SUMMARY, "_serve", serve.serve_flags),
    "verify": Subcommand(verify.USAGE, verify.SUMMARY, "_verify", verify.verify_flags),
    "tutorial": Subcommand(
        tutorial.USAGE, tutorial.SUMMARY, "_tutorial", tutorial.tutorial_flags
    ),
}


def help_text() -> str:
    """Return the text of ``%triton help``: each subcommand and its summary."""
    rows = []
    for name, subcommand in SUBCOMMANDS.items():
        rows.append(f"  {_usage(name)}\n      {subcommand.summary}")
    listed = "\n".join(rows)
    return (
        f"Look at models, and run them.\n\nusage: %triton SUBCOMMAND ...\n\n{listed}\n"
    )


def help_of(name: str) -> str:
    """Return the text of ``%triton help NAME``, with its options if it has any."""
    subcommand = SUBCOMMANDS[name]
    if subcommand.flags is not None:
        return subcommand.flags().format_help()
    return f"{_usage(name)}\n  {subcommand.summary}\n"


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

    @property
    def _live(self) -> bool:
        """Whether there is a page that can show progress and widgets."""
        return getattr(self.shell, "kernel", None) is not None

    def close(self) -> None:
        """Close monitors and end points."""
        self._monitors.close()
        self._serving.close()

    @no_var_expand
    @needs_local_scope
    @line_magic
    @_documented
    def triton(self, text: str, local_ns: Any = None) -> Any:
        """Run a subcommand; the docstring is replaced by the help."""
        name, _, rest = text.strip().partition(" ")
        name, rest = name or "help", rest.strip()
        if name not in SUBCOMMANDS:
            raise _unknown(name)
        if rest in ("--help", "-h"):
            name, rest = "help", name
        method = getattr(self, SUBCOMMANDS[name].method)
        try:
            return method(rest, line.namespace(self.shell, local_ns))
        except HelpShown:
            return None

    def _models(self, text: str, namespace: Namespace) -> None:
        models.list_models(line.words(text, namespace))

    def _config(self, text: str, namespace: Namespace) -> None:
        models.print_config(line.words(text, namespace), namespace)

    def _load(self, text: str, namespace: Namespace) -> Any:
        return models.load(line.words(text, namespace))

    def _unload(self, text: str, namespace: Namespace) -> Any:
        return models.unload(line.words(text, namespace))

    def _infer(self, text: str, namespace: Namespace) -> Any:
        inputs = line.named_inputs(text, namespace, "%triton infer", _INFER_USAGE)
        return default.server().infer(*inputs)

    def _bench(self, text: str, namespace: Namespace) -> Any:
        return bench.bench(text, namespace, live=self._live)

    def _verify(self, text: str, namespace: Namespace) -> Any:
        return verify.verify(text, namespace, live=self._live)

    def _stats(self, text: str, namespace: Namespace) -> None:
        stats.stats(line.words(text, namespace))

    def _monitor(self, text: str, namespace: Namespace) -> None:
        if text:
            raise UsageError("usage: %triton monitor")
        self._monitors.show(default.server().monitor(), live=self._live)

    def _runtime(self, text: str, namespace: Namespace) -> None:
        runtime.runtime(line.words(text, namespace))

    def _serve(self, text: str, namespace: Namespace) -> None:
        self._serving.run(line.words(text, namespace))

    def _log(self, text: str, namespace: Namespace) -> None:
        models.print_log(line.words(text, namespace))

    def _import(self, text: str, namespace: Namespace) -> None:
        models.import_models(line.words(text, namespace))

    def _export(self, text: str, namespace: Namespace) -> None:
        models.export_models(line.words(text, namespace))

    def _trace(self, text: str, namespace: Namespace) -> Any:
        return traces.trace(line.words(text, namespace), namespace)

    def _standin(self, text: str, namespace: Namespace) -> Any:
        return standin.standin(line.words(text, namespace), namespace)

    def _tutorial(self, text: str, namespace: Namespace) -> None:
        tutorial.tutorial(line.words(text, namespace))

    def _help(self, text: str, namespace: Namespace) -> None:
        if not text:
            print(help_text())
        elif text in SUBCOMMANDS:
            print(help_of(text), end="")
        else:
            raise _unknown(text)


def _unknown(name: str) -> UsageError:
    """Return the error for an unknown subcommand."""
    close = difflib.get_close_matches(name, SUBCOMMANDS, 1)
    similar = f" Did you mean %triton {close[0]}?" if close else ""
    return UsageError(
        f"%triton has no subcommand {name!r}.{similar} There are: "
        f"{', '.join(SUBCOMMANDS)}. %triton help explains them."
    )
