"""Write, run and see Triton Python models and BLS in a notebook.

PYTEST_DONT_REWRITE: the package has a pytest plugin, and pytest must not warn when it
starts in a notebook that has already imported blsnb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blsnb.errors import (
    BackendError,
    BlsnbError,
    CollectorError,
    InferenceError,
    InputError,
    MissingOutputError,
    ModelConfigError,
    ModelLoadError,
    ModelSourceError,
    OutOfResourcesError,
    RepositoryError,
    ServerClosedError,
    TraceError,
    TraceFileError,
    TritonServerError,
    WouldHang,
)
from blsnb.options import options
from blsnb.pb_utils.module import finder
from blsnb.release import TRITON_RELEASE

if TYPE_CHECKING:
    from blsnb.inference_server import Server
    from blsnb.magics.default_requests import (
        async_infer,
        bench,
        evaluate,
        infer,
        plan,
        stream,
    )
    from blsnb.magics.default_server import server
    from blsnb.magics.extension import (
        load_ipython_extension,
        unload_ipython_extension,
    )
    from blsnb.recorder.loaded_recording import load_recording
    from blsnb.results.loaded_run import load_run, load_trace
    from blsnb.results.response import Response
    from blsnb.results.run import Run

__all__ = [
    "TRITON_RELEASE",
    "BackendError",
    "BlsnbError",
    "CollectorError",
    "InferenceError",
    "InputError",
    "MissingOutputError",
    "ModelConfigError",
    "ModelLoadError",
    "ModelSourceError",
    "OutOfResourcesError",
    "RepositoryError",
    "Response",
    "Run",
    "Server",
    "ServerClosedError",
    "TraceError",
    "TraceFileError",
    "TritonServerError",
    "WouldHang",
    "async_infer",
    "bench",
    "evaluate",
    "infer",
    "load_ipython_extension",
    "load_recording",
    "load_run",
    "load_trace",
    "options",
    "plan",
    "server",
    "stream",
    "unload_ipython_extension",
]

_HOMES = {
    "blsnb.inference_server": "Server",
    "blsnb.magics.default_requests": "async_infer bench evaluate infer plan stream",
    "blsnb.magics.default_server": "server",
    "blsnb.magics.extension": "load_ipython_extension unload_ipython_extension",
    "blsnb.recorder.loaded_recording": "load_recording",
    "blsnb.results.loaded_run": "load_run load_trace",
    "blsnb.results.response": "Response",
    "blsnb.results.run": "Run",
}
"""Names that are imported at their first use, by module."""


def _imported(name: str) -> Any:
    """Import a name on first use: importing blsnb stays fast."""
    home = next((each for each in _HOMES if name in _HOMES[each].split()), None)
    if home is None:
        raise AttributeError(f"module 'blsnb' has no attribute {name!r}")
    import importlib

    from blsnb.garbage import collections_paused

    with collections_paused():
        value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:
    # Checkers would take any misspelled name for one of these.
    __getattr__ = _imported

finder.install()


def __dir__() -> list[str]:
    return sorted(__all__)
