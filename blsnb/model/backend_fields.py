"""Deduce a model's backend from its files, its platform or its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from blsnb.errors import ModelConfigError

MODEL_FILENAME = "model.py"
ENSEMBLE = "ensemble"
"""Platform and backend of ensembles."""
Entries = Mapping[str, bool]
"""Contents of a folder: by name, whether the entry is a folder."""
ONLY_PYTHON: Entries = {MODEL_FILENAME: False}


class _Kind(NamedTuple):
    """A backend that a platform or a file name identifies."""

    backend: str
    platform: str
    filename: str
    must_be_file: bool
    """Whether a folder with that name does not count."""


# In the order of Triton's search.
_KINDS = (
    _Kind("tensorrt", "tensorrt_plan", "model.plan", True),
    _Kind("onnxruntime", "onnxruntime_onnx", "model.onnx", False),
    _Kind("openvino", "", "model.xml", False),
    _Kind("pytorch", "pytorch_libtorch", "model.pt", True),
    _Kind("python", "", MODEL_FILENAME, False),
)
_TENSORFLOW = "tensorflow"
# A saved model is a folder, a graph a file; if both exist, the later row counts.
_TENSORFLOW_FILES = {
    "model.savedmodel": ("tensorflow_savedmodel", True),
    "model.graphdef": ("tensorflow_graphdef", False),
}


def identifies_backend(entries: Entries) -> bool:
    """Whether a version's folder contains a file that identifies the backend."""
    kinds = any(_exists(kind, entries) for kind in _KINDS)
    return kinds or bool(_tensorflow_platform(entries))


def fill_backend(message: Any, model_name: str, entries: Entries) -> None:
    """Write backend, platform and model file into a configuration.

    Parameters
    ----------
    entries
        Contents of the first version's folder; empty without versions.

    Raises
    ------
    ModelConfigError
        At stage ``poll``: nothing identifies the backend.

    References
    ----------
    core: src/model_config_utils.cc, AutoCompleteBackendFields
    """
    if _fill_tensorflow(message, entries):
        return
    for kind in _KINDS:
        if not message.backend and _matches(kind, message, entries):
            message.backend = kind.backend
        if message.backend == kind.backend:
            message.platform = message.platform or kind.platform
            message.default_model_filename = (
                message.default_model_filename or kind.filename
            )
            return
    if _is_unspecified(message) and not message.backend:
        _fill_from_name(message, model_name)


def _is_unspecified(message: Any) -> bool:
    return not message.platform and not message.default_model_filename


def _matches(kind: _Kind, message: Any, entries: Entries) -> bool:
    if kind.platform and message.platform == kind.platform:
        return True
    if message.default_model_filename == kind.filename:
        return True
    return _is_unspecified(message) and _exists(kind, entries)


def _exists(kind: _Kind, entries: Entries) -> bool:
    is_folder = entries.get(kind.filename)
    return is_folder is not None and not (kind.must_be_file and is_folder)


def _fill_tensorflow(message: Any, entries: Entries) -> bool:
    """Fill in TensorFlow's fields; return whether the platform is one of its own.

    Only for TensorFlow does a platform count beside a configured backend.
    """
    if not message.platform and message.backend in ("", _TENSORFLOW):
        known = _TENSORFLOW_FILES.get(message.default_model_filename)
        if known is not None:
            message.platform = known[0]
        elif not message.default_model_filename:
            message.platform = _tensorflow_platform(entries)
    for filename, (platform, _) in _TENSORFLOW_FILES.items():
        if message.platform == platform:
            message.backend = message.backend or _TENSORFLOW
            message.default_model_filename = message.default_model_filename or filename
            return True
    return False


def _tensorflow_platform(entries: Entries) -> str:
    found = [
        platform
        for filename, (platform, is_folder) in _TENSORFLOW_FILES.items()
        if entries.get(filename) is is_folder
    ]
    return found[-1] if found else ""


def _fill_from_name(message: Any, model_name: str) -> None:
    _, dot, backend = model_name.partition(".")
    if not dot:
        raise ModelConfigError(
            f"Invalid model name: Could not determine backend for model "
            f"'{model_name}' with no backend in model configuration. Expected model "
            "name of the form 'model.<backend_name>'.",
            advice=f"A Python model needs {model_name}/1/{MODEL_FILENAME} "
            'or backend: "python". Of several versions Triton looks into the folder '
            "whose name sorts first.",
        )
    message.backend = backend
    message.default_model_filename = f"model.{backend}"
