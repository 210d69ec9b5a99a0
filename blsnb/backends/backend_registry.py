"""Registry: the backends that there are, by their names in ``config.pbtxt``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple, cast

from blsnb.backends.backend import Backend
from blsnb.model.rules.validate import missing_backend

GROUP = "blsnb.backends"
_STANDIN = (
    "A stand-in can answer in its place: %triton standin {model} --zeros, or --random "
    "SEED, --replay RUN, --call FUNCTION, --remote grpc://HOST:PORT; in Python "
    "server.standin({model!r}, zeros=True) and so on."
)


class _Ours(NamedTuple):
    """A backend of blsnb's own, imported when a model asks for it."""

    module: str
    factory: str
    package: str
    """What it imports, and may be missing."""
    remedy: str


_OURS = {
    "onnxruntime": _Ours(
        "blsnb.backends.onnxruntime",
        "OnnxRuntime",
        "onnxruntime",
        "pip install 'blsnb[onnx]' installs it.",
    ),
}


def find_backend(name: str, model_name: str) -> Backend:
    """Return a backend.

    Parameters
    ----------
    model_name
        Which model asks for it: the advice names it.

    Raises
    ------
    ModelConfigError
        At stage ``create``: it is not here; the text is Triton's.
    """
    standin = _STANDIN.format(model=model_name)
    ours = _OURS.get(name)
    try:
        factory = _own(ours) if ours is not None else _entry_point(name)
    except Exception as error:
        remedy = f"It is installed, and cannot be imported: {error!r}."
        if ours is not None and _is_missing(error, ours.package):
            remedy = f"The package {ours.package} is missing: {ours.remedy}"
        raise missing_backend(name, f"{remedy}\n{standin}") from error
    if factory is None:
        raise missing_backend(name, f"blsnb has no backend {name!r}. {standin}")
    return factory()


def _own(ours: _Ours) -> Callable[[], Backend]:
    module = importlib.import_module(ours.module)
    return cast("Callable[[], Backend]", getattr(module, ours.factory))


def _is_missing(error: Exception, package: str) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == package


def _entry_point(name: str) -> Callable[[], Backend] | None:
    # Slow to import, and needed for this alone.
    import importlib.metadata

    for found in importlib.metadata.entry_points(group=GROUP, name=name):
        return cast("Callable[[], Backend]", found.load())
    return None
