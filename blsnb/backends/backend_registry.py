"""The available backends, by their names in ``config.pbtxt``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple, cast

from blsnb.backends.backend import Backend
from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import MODEL_FILENAME
from blsnb.model.config import ModelConfig
from blsnb.model.rules.validate import missing_backend

GROUP = "blsnb.backends"
_STANDIN = (
    "A stand-in can replace it: %triton standin {model} --zeros, or --random "
    "SEED, --replay RUN, --call FUNCTION, --remote grpc://HOST:PORT; in Python "
    "server.standin({model!r}, zeros=True) and so on."
)


class _OwnBackend(NamedTuple):
    """A backend of blsnb, imported when a model needs it."""

    module: str
    factory: str
    package: str
    """A package that it imports and that may be missing."""
    install: str


_OWN = {
    "onnxruntime": _OwnBackend(
        "blsnb.backends.onnxruntime",
        "OnnxRuntime",
        "onnxruntime",
        "Install it with pip install 'blsnb[onnx]'.",
    ),
}


def find_backend(name: str, model_name: str) -> Backend:
    """Return a backend.

    Raises
    ------
    ModelConfigError
        At stage ``create``: the backend is not available; the text is Triton's.
    """
    standin = _STANDIN.format(model=model_name)
    own = _OWN.get(name)
    try:
        factory = _own(own) if own is not None else _entry_point(name)
    except Exception as error:
        reason = f"The backend is installed, but cannot be imported: {error!r}."
        if own is not None and _is_missing(error, own.package):
            reason = f"The package {own.package} is missing. {own.install}"
        raise missing_backend(name, f"{reason}\n{standin}") from error
    if factory is None:
        raise missing_backend(name, f"blsnb has no backend {name!r}. {standin}")
    return factory()


def missing_file_advice(config: ModelConfig, model_name: str) -> str:
    """Return what a model without a model file needs before it can be loaded.

    Parameters
    ----------
    config
        A normalised configuration, which names the backend and the model file.
    """
    advice = f"It is loaded once it has {model_name}/1/{config.default_model_filename}"
    if config.default_model_filename == MODEL_FILENAME:
        return f"{advice} (%%triton_model {model_name})."
    if config.backend != "python":
        try:
            find_backend(config.backend, model_name)
        except ModelConfigError as error:
            return error.advice
    return f"{advice}."


def _own(own: _OwnBackend) -> Callable[[], Backend]:
    module = importlib.import_module(own.module)
    return cast("Callable[[], Backend]", getattr(module, own.factory))


def _is_missing(error: Exception, package: str) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == package


def _entry_point(name: str) -> Callable[[], Backend] | None:
    # Slow to import, and only needed here.
    import importlib.metadata

    for found in importlib.metadata.entry_points(group=GROUP, name=name):
        return cast("Callable[[], Backend]", found.load())
    return None
