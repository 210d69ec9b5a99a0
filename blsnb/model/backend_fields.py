"""What tells the backend of a model, where its configuration does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from blsnb.errors import ModelConfigError

MODEL_FILENAME = "model.py"
Entries = Mapping[str, bool]
"""What is in a folder: name, and whether it is a folder."""
ONLY_PYTHON: Entries = {MODEL_FILENAME: False}


class _Kind(NamedTuple):
    """One backend that a file or a platform tells.

    Parameters
    ----------
    plain
        Whether the file must be one; else a folder of that name does as well.
    """

    backend: str
    platform: str
    filename: str
    plain: bool


# In the order in which Triton looks for them.
_KINDS = (
    _Kind("tensorrt", "tensorrt_plan", "model.plan", True),
    _Kind("onnxruntime", "onnxruntime_onnx", "model.onnx", False),
    _Kind("openvino", "", "model.xml", False),
    _Kind("pytorch", "pytorch_libtorch", "model.pt", True),
    _Kind("python", "", MODEL_FILENAME, False),
)
_TENSORFLOW = "tensorflow"
# A saved model is a folder, a graph is none; of both, the later one counts.
_TENSORFLOW_FILES = {
    "model.savedmodel": ("tensorflow_savedmodel", True),
    "model.graphdef": ("tensorflow_graphdef", False),
}


def tells_backend(entries: Entries) -> bool:
    """Whether a version's folder holds a file that tells the backend."""
    kinds = any(_is_there(kind, entries) for kind in _KINDS)
    return kinds or bool(_tensorflow_platform(entries))


def fill_backend(message: Any, model_name: str, entries: Entries) -> None:
    """Write backend, platform and entry file into a configuration.

    Parameters
    ----------
    entries
        What is in the first version's folder; empty where there is none.

    Raises
    ------
    ModelConfigError
        At stage ``poll``: nothing tells the backend.

    References
    ----------
    core: src/model_config_utils.cc, AutoCompleteBackendFields
    """
    if _fill_tensorflow(message, entries):
        return
    for kind in _KINDS:
        if not message.backend and _tells(kind, message, entries):
            message.backend = kind.backend
        if message.backend == kind.backend:
            message.platform = message.platform or kind.platform
            message.default_model_filename = (
                message.default_model_filename or kind.filename
            )
            return
    if _says_nothing(message) and not message.backend:
        _fill_from_name(message, model_name)


def _says_nothing(message: Any) -> bool:
    return not message.platform and not message.default_model_filename


def _tells(kind: _Kind, message: Any, entries: Entries) -> bool:
    if kind.platform and message.platform == kind.platform:
        return True
    if message.default_model_filename == kind.filename:
        return True
    return _says_nothing(message) and _is_there(kind, entries)


def _is_there(kind: _Kind, entries: Entries) -> bool:
    is_folder = entries.get(kind.filename)
    return is_folder is not None and not (kind.plain and is_folder)


def _fill_tensorflow(message: Any, entries: Entries) -> bool:
    """Write what TensorFlow's platforms mean; return whether it is one of them.

    Only here a platform counts though another backend is configured.
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
