"""``%triton runtime``: the runtime of tensors."""

from __future__ import annotations

from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import usage_of
from blsnb.magics.line import Line
from blsnb.options import options
from blsnb.parts.server_parts import parts_of


def runtime(line: Line) -> None:
    """Print the default server's runtime, after changing it if one is named."""
    words = line.words
    if len(words) > 1:
        raise UsageError(f"usage: {usage_of('runtime')}")
    if words:
        _use(words[0])
    server = default.server()
    why = parts_of(server).devices.reason
    print(f"{server.runtime.name}: {server.runtime.describe()}, since {why}")


def _use(name: str) -> None:
    before = options.runtime
    started = default.started()
    options.runtime = name
    default.note_settings()
    try:
        server = default.server()
        failed = {} if started is None else server.use_runtime(name)
    except ValueError as error:
        options.runtime = before
        default.note_settings()
        raise UsageError(str(error)) from None
    for model, failure in failed.items():
        if failure is not None:
            print(f"{model} stays as it was: {failure.reason or failure.message}")
