"""Written: the configuration that a cell gives, of its options and a text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.error import UsageError

if TYPE_CHECKING:
    from blsnb.model.config import ModelConfig
    from blsnb.model.spec import Options


class Written(NamedTuple):
    """A configuration that was written, and what it was made of."""

    text: str
    base: str | None
    """The user's own text, without the options."""
    options: Options


def no_options() -> Options:
    """Return the options of a cell that gives none."""
    from blsnb.model.spec import Options

    return Options()


def compose(base: str | None, options: Options) -> Written:
    """Return a configuration of a text and options; the text alone stays verbatim."""
    from blsnb.model.config import ModelConfig, parse_pbtxt
    from blsnb.model.spec import merge_options

    if not options.given:
        return Written(base or "", base, options)
    config = ModelConfig() if base is None else parse_pbtxt(base)
    merged: ModelConfig = merge_options(config, options)
    if base is not None and merged.message == config.message:
        return Written(base, base, options)
    return Written(merged.to_pbtxt(), base, options)


def configuration_text(given: str, namespace: Mapping[str, Any]) -> str:
    """Return the text that ``--config`` names: of a variable, or of a file.

    Raises
    ------
    UsageError
        There is neither, or the variable holds something else.
    """
    from blsnb.model.config import ModelConfig

    value = namespace.get(given, Path(given).expanduser())
    match value:
        case str():
            return value
        case ModelConfig():
            return value.to_pbtxt()
        case Path() if value.is_file():
            return value.read_text("utf-8")
        case Path():
            raise UsageError(
                f"--config {given}: there is no variable and no file of that name"
            )
    raise UsageError(
        f"--config {given}: the variable holds a {type(value).__name__}, "
        "not the text of a config.pbtxt or a path to one"
    )
