"""The cell that sends the request of a form."""

from __future__ import annotations

from collections.abc import Mapping

from blsnb.form.value import Value
from blsnb.request_fields import RequestOptions

_MAX_LINE = 88
"""Maximum length of a call written on one line, in characters."""


def request_code(
    model_name: str,
    values: Mapping[str, Value],
    options: RequestOptions,
    *,
    server: str = "blsnb",
    streams: bool = False,
) -> str:
    """Return Python code that sends a request.

    Parameters
    ----------
    values
        The inputs by name.
    server
        Expression of the server.
    streams
        Whether the model is decoupled, so that responses are iterated over.
    """
    imports = {line for value in values.values() for line in value.imports}
    if server == "blsnb":
        imports.add("import blsnb")
    method = "stream" if streams else "infer"
    call = _call(f"{server}.{method}", model_name, values, options)
    code = f"for response in {call}:\n    print(response)" if streams else call
    return "\n".join([*sorted(imports), "", code]).lstrip("\n")


def _call(
    function: str,
    model_name: str,
    values: Mapping[str, Value],
    options: RequestOptions,
) -> str:
    inputs = [f"{name!r}: {value.code}" for name, value in values.items()]
    named = [f"{name}={value!r}" for name, value in options.items()]
    short = f"{function}({', '.join([repr(model_name), _braced(inputs), *named])})"
    if len(short) <= _MAX_LINE:
        return short
    lines = ["    {", *[f"        {each}," for each in inputs], "    },"]
    lines += [f"    {each}," for each in named]
    return "\n".join([f"{function}(", f"    {model_name!r},", *lines, ")"])


def _braced(items: list[str]) -> str:
    return "{" + ", ".join(items) + "}"
