"""Write traces to files for other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from blsnb.arguments import path_of
from blsnb.files.whole import output_file
from blsnb.trace.files.perfetto import perfetto_json
from blsnb.trace.spans import Trace
from blsnb.trace.triton.json_form import triton_json

FORMATS: dict[str, Callable[[Iterable[Trace]], Iterator[str]]] = {
    "triton": triton_json,
    "perfetto": perfetto_json,
}


def write_traces(
    traces: Iterable[Trace], path: str | os.PathLike[str], format: str = "triton"
) -> Path:
    """Write traces to a file, which appears only when it is complete.

    Parameters
    ----------
    format
        ``"triton"``: what a Triton server writes with ``--trace-config``;
        ``"perfetto"``: what ui.perfetto.dev opens.

    Raises
    ------
    ValueError
        The format is unknown.
    OSError
        The file cannot be written; an existing file is unchanged.
    """
    if format not in FORMATS:
        known = " or ".join(map(repr, FORMATS))
        raise ValueError(f"format={format!r} is not valid; expected {known}")
    path = path_of(path=path)
    with (
        output_file(path) as partial,
        partial.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(FORMATS[format](traces))
    return path
