"""The available backends, by their names in ``config.pbtxt``."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

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


_ONNX = "onnxruntime"
"""Name of blsnb's own backend, and of the package that it imports."""


def find_backend(name: str, model_name: str) -> Backend:
    """Return a backend.

    Raises
    ------
    ModelConfigError
        At stage ``create``: the backend is not available; the text is Triton's.
    """
    standin = _STANDIN.format(model=model_name)
    try:
        factory = _onnxruntime() if name == _ONNX else _entry_point(name)
    except Exception as error:
        reason = f"The backend is installed, but cannot be imported: {error!r}."
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if name == missing == _ONNX:
            reason = (
                f"The package {_ONNX} is missing. Install it with pip install "
                "'blsnb[onnx]'."
            )
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


def _onnxruntime() -> Callable[[], Backend]:
    # Deferred: its package may be missing.
    from blsnb.backends.onnxruntime import OnnxRuntime

    return OnnxRuntime


def _entry_point(name: str) -> Callable[[], Backend] | None:
    # Slow to import, and only needed here.
    import importlib.metadata

    for found in importlib.metadata.entry_points(group=GROUP, name=name):
        return cast("Callable[[], Backend]", found.load())
    return None
