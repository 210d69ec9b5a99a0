"""``%triton SUBCOMMAND``: everything but defining models."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)
from IPython.display import display

from blsnb.magics import card, line
from blsnb.magics import default_server as default
from blsnb.magics.commands import bench, monitor, serve, stats, traces, verify
from blsnb.magics.commands import runtime as runtimes
from blsnb.magics.commands import standin as standins
from blsnb.magics.commands import tutorial_part as tutorial
from blsnb.magics.flags import Flags
from blsnb.parts.server_parts import parts_of

_MOST_LOG_LINES = 200
_ANY = 1000


class Subcommand(NamedTuple):
    """One subcommand: how it is written, what it does, and what does it."""

    usage: str
    summary: str
    method: str
    flags: Callable[[], Flags] | None = None


SUBCOMMANDS = {
    "models": Subcommand("", "list the models and how they stand", "_models"),
    "config": Subcommand(
        "NAME [--from-run [RUN ...]]",
        "print a model's completed configuration, or one that fits recorded tensors",
        "_config",
    ),
    "load": Subcommand(
        "NAME [--watch]",
        "load a model, or load it anew; --watch: again whenever it is saved",
        "_load",
    ),
    "unload": Subcommand("NAME", "stop serving a model", "_unload"),
    "infer": Subcommand(
        "NAME INPUT=EXPRESSION ...",
        "run a request; the inputs are Python expressions of the notebook",
        "_infer",
    ),
    "stats": Subcommand(stats.USAGE, stats.SUMMARY, "_stats"),
    "monitor": Subcommand("", monitor.SUMMARY, "_monitor"),
    "runtime": Subcommand(runtimes.USAGE, runtimes.SUMMARY, "_runtime"),
    "log": Subcommand("[NAME]", "print what models have logged", "_log"),
    "help": Subcommand("[SUBCOMMAND]", "show this text", "_help"),
    "import": Subcommand(
        "PATH [NAME ...]", "load the models of a repository on disk", "_import"
    ),
    "export": Subcommand(
        "PATH [NAME ...] [--force]", "write a model repository for Triton", "_export"
    ),
    "trace": Subcommand(traces.USAGE, traces.SUMMARY, "_trace", traces.trace_flags),
    "standin": Subcommand(
        standins.USAGE, standins.SUMMARY, "_standin", standins.standin_flags
    ),
    "bench": Subcommand(bench.USAGE, bench.SUMMARY, "_bench", bench.bench_flags),
    "serve": Subcommand(serve.USAGE, serve.SUMMARY, "_serve", serve.serve_flags),
    "verify": Subcommand(verify.USAGE, verify.SUMMARY, "_verify", verify.verify_flags),
    "tutorial": Subcommand(
        tutorial.USAGE, tutorial.SUMMARY, "_tutorial", tutorial.tutorial_flags
    ),
}


def help_text() -> str:
    """Return what ``%triton help`` prints: each subcommand, and what it does."""
    rows = []
    for name, subcommand in SUBCOMMANDS.items():
        written = f"%triton {name} {subcommand.usage}".rstrip()
        rows.append(f"  {written}\n      {subcommand.summary}")
    listed = "\n".join(rows)
    return (
        f"Look at models, and run them.\n\nusage: %triton SUBCOMMAND ...\n\n{listed}\n"
    )


def help_of(name: str) -> str:
    """Return what ``%triton help NAME`` prints: of its options all, if it has any."""
    subcommand = SUBCOMMANDS[name]
    if subcommand.flags is not None:
        return subcommand.flags().format_help()
    usage = f"%triton {name} {subcommand.usage}".rstrip()
    return f"{usage}\n  {subcommand.summary}\n"


def _documented(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__doc__ = help_text()
    return function


@magics_class
class OperateMagics(Magics):
    """The magic ``%triton``."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._monitors = monitor.Monitors()
        self._serving = serve.Serving()

    def close(self) -> None:
        """End what goes on after its cell."""
        self._monitors.close()
        self._serving.close()

    @no_var_expand
    @needs_local_scope
    @line_magic
    @_documented
    def triton(self, text: str, local_ns: Any = None) -> Any:
        """List the subcommands, as the text does that stands here."""
        name, _, rest = text.strip().partition(" ")
        namespace = line.namespace(self.shell, local_ns)
        subcommand = SUBCOMMANDS.get(name or "help")
        if subcommand is None:
            raise _unknown(name)
        if rest.strip() in ("--help", "-h"):
            return self._help(name, namespace)
        return getattr(self, subcommand.method)(rest.strip(), namespace)

    def _models(self, text: str, namespace: Mapping[str, Any]) -> None:
        _arguments("models", text, namespace, 0, 0)
        statuses = default.server().models()
        if statuses:
            display(card.table(statuses), raw=True)
        else:
            print("There are no models yet; a %%triton_model cell makes one.")

    def _config(self, text: str, namespace: Mapping[str, Any]) -> None:
        name, *rest = _arguments("config", text, namespace, 1, _ANY)
        match rest:
            case []:
                print(default.server().config_text(name))
            case ["--from-run", *words]:
                runs = [_run(word, namespace) for word in words]
                print(default.server().implied_config(name, *runs).text())
            case _:
                raise _wrong("config")

    def _load(self, text: str, namespace: Mapping[str, Any]) -> Any:
        words = _arguments("load", text, namespace, 1, 2)
        name, more, options = _path_and_names("load", words, ("--watch",))
        if more:
            raise _wrong("load")
        status = default.server().load(name)
        if options:
            default.server().watch(name)
        return status

    def _unload(self, text: str, namespace: Mapping[str, Any]) -> Any:
        [name] = _arguments("unload", text, namespace, 1, 1)
        server = default.server()
        if name not in parts_of(server).repository.names():
            known = ", ".join(parts_of(server).repository.names()) or "none"
            raise UsageError(f"there is no model {name!r}; there are: {known}")
        server.unload(name)
        return server.model(name)

    def _infer(self, text: str, namespace: dict[str, Any]) -> Any:
        name, _, rest = text.partition(" ")
        if not name:
            raise UsageError(f"usage: %triton infer {SUBCOMMANDS['infer'].usage}")
        inputs = {
            tensor: _value(tensor, expression, namespace)
            for tensor, expression in line.assignments(rest.strip()).items()
        }
        return default.server().infer(line.expand(name, namespace), inputs)

    def _bench(self, text: str, namespace: dict[str, Any]) -> Any:
        live = getattr(self.shell, "kernel", None) is not None
        return bench.bench(text, namespace, _value, live=live)

    def _verify(self, text: str, namespace: dict[str, Any]) -> Any:
        live = getattr(self.shell, "kernel", None) is not None
        return verify.verify(text, namespace, _value, live=live)

    def _stats(self, text: str, namespace: Mapping[str, Any]) -> None:
        stats.stats(line.words(text, namespace))

    def _monitor(self, text: str, namespace: Mapping[str, Any]) -> None:
        _arguments("monitor", text, namespace, 0, 0)
        live = getattr(self.shell, "kernel", None) is not None
        self._monitors.show(default.server().monitor(), live=live)

    def _runtime(self, text: str, namespace: Mapping[str, Any]) -> None:
        runtimes.runtime(line.words(text, namespace))

    def _serve(self, text: str, namespace: Mapping[str, Any]) -> None:
        self._serving.run(text, namespace)

    def _log(self, text: str, namespace: Mapping[str, Any]) -> None:
        names = _arguments("log", text, namespace, 0, 1)
        written = [
            f"{level[0]} {model}: {message}"
            for model, level, message in list(default.server().log.lines)
            if model in names or not names
        ]
        left_out = len(written) - _MOST_LOG_LINES
        if left_out > 0:
            print(f"… {left_out:,} earlier lines")
        shown = written[-_MOST_LOG_LINES:]
        print("\n".join(shown) or "Nothing has been logged.")

    def _import(self, text: str, namespace: Mapping[str, Any]) -> None:
        words = _arguments("import", text, namespace, 1, _ANY)
        path, names, _ = _path_and_names("import", words, ())
        statuses = default.server().import_repository(path, names)
        if statuses:
            display(card.table(statuses), raw=True)
        else:
            print(f"There are no models in {path}: each would be a folder in it.")

    def _export(self, text: str, namespace: Mapping[str, Any]) -> None:
        words = _arguments("export", text, namespace, 1, _ANY)
        path, names, options = _path_and_names("export", words, ("--force",))
        force = "--force" in options
        exported = default.server().export_repository(path, names, force=force)
        display(card.exported(exported), raw=True)

    def _trace(self, text: str, namespace: Mapping[str, Any]) -> Any:
        return traces.trace(line.words(text, namespace), namespace)

    def _standin(self, text: str, namespace: Mapping[str, Any]) -> Any:
        return standins.standin(line.words(text, namespace), namespace)

    def _tutorial(self, text: str, namespace: Mapping[str, Any]) -> None:
        tutorial.tutorial(line.words(text, namespace))

    def _help(self, text: str, namespace: Mapping[str, Any]) -> None:
        if not text:
            print(help_text())
            return
        if text not in SUBCOMMANDS:
            raise _unknown(text)
        print(help_of(text), end="")


def _value(tensor: str, expression: str, namespace: dict[str, Any]) -> Any:
    """Return the value of an input's expression."""
    try:
        return eval(compile(expression, f"<%triton {tensor}=...>", "eval"), namespace)
    except (SyntaxError, NameError) as error:
        if _raised_below(error):
            raise
        told = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(f"{tensor}={expression}: {told}") from error


def _raised_below(error: BaseException) -> bool:
    """Whether a function raised it that the expression calls."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return len(frames) > 2


def _arguments(
    subcommand: str, text: str, namespace: Mapping[str, Any], least: int, most: int
) -> list[str]:
    words = line.words(text, namespace)
    if not least <= len(words) <= most:
        raise _wrong(subcommand)
    return words


def _run(word: str, namespace: Mapping[str, Any]) -> Any:
    """Return the run that a variable holds."""
    from blsnb.run import Run

    run = namespace.get(word)
    if not isinstance(run, Run):
        raise UsageError(f"{word!r} is no variable that holds a run")
    return run


def _unknown(name: str) -> UsageError:
    """Return what to raise of a subcommand that is none."""
    close = difflib.get_close_matches(name, SUBCOMMANDS, 1)
    meant = f" Did you mean %triton {close[0]}?" if close else ""
    return UsageError(
        f"%triton has no subcommand {name!r}.{meant} There are: "
        f"{', '.join(SUBCOMMANDS)}. %triton help says what they do."
    )


def _wrong(subcommand: str) -> UsageError:
    usage = f"%triton {subcommand} {SUBCOMMANDS[subcommand].usage}".rstrip()
    return UsageError(f"usage: {usage}")


def _path_and_names(
    subcommand: str, words: list[str], known: tuple[str, ...]
) -> tuple[str, list[str] | None, list[str]]:
    """Return the path, the names after it or None for all, and the options."""
    options = [word for word in words if word.startswith("--")]
    rest = [word for word in words if word not in options]
    if not rest or not set(options) <= set(known):
        raise _wrong(subcommand)
    return rest[0], rest[1:] or None, options
