"""Functions with which a model loads, unloads and checks models."""

from __future__ import annotations

from typing import Any

from blsnb.pb_utils.backend import EngineCalls, Refusal, refusal_error
from blsnb.pb_utils.compiled.conversions import Mismatch
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.signature import NO_CAST, compiled, string, truth

_PADDED_FILES = (
    "load_model() with files of different sizes adds zero bytes to the shorter ones on "
    "Triton 24.10. Write the model to the repository instead."
)


def control_functions(backend: EngineCalls) -> dict[str, Any]:
    """Return the functions by name, bound to an instance's backend.

    References
    ----------
    python_backend: src/pb_stub_utils.cc; src/model_loader.cc
    """
    bind = (_load_model, _unload_model, _is_model_ready)
    functions = [each(backend) for each in bind]
    return {function.__name__: function for function in functions}


def _load_model(backend: EngineCalls) -> Any:
    @compiled(
        "load_model(model_name: str, config: str = '', files: object = None) -> None"
    )
    def load_model(model_name: str, config: str = "", files: Any = None) -> None:
        """Load or reload a model, and wait until it is ready.

        Parameters
        ----------
        config
            JSON text that replaces the model's ``config.pbtxt``.
        files
            Contents as ``bytes`` by names such as ``"file:1/model.py"``; they replace
            the model's folder, and need a ``config``.

        Raises
        ------
        TritonModelException
            Loading failed; versions that were ready before stay ready.
        """
        name, text = _until_nul(model_name), _until_nul(config)
        contents = _contents(name, files)
        if len({len(content) for content in contents.values()}) > 1:
            backend.note(_PADDED_FILES)
        try:
            backend.load_model(name, text, contents)
        except Refusal as refusal:
            raise refusal_error(backend, "Failed to load model: ", refusal) from refusal

    return load_model


def _until_nul(text: Any) -> str:
    """Return a text as the server receives it: up to the first NUL."""
    return string(text).partition("\0")[0]


def _contents(name: str, files: Any) -> dict[str, bytes]:
    if files is None:
        return {}
    if not isinstance(files, dict):
        raise TritonModelException(
            f"failed to load model '{name}', files should be a dictionary of file "
            "paths and file contents"
        )
    return {_path(path): _content(content) for path, content in files.items()}


def _path(path: Any) -> str:
    try:
        return string(path)
    except Mismatch:
        raise RuntimeError(NO_CAST) from None


def _content(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    kind = type(content).__name__
    raise TypeError(f"Object of type '{kind}' is not an instance of 'bytes'")


def _unload_model(backend: EngineCalls) -> Any:
    @compiled("unload_model(model_name: str, unload_dependents: bool = False) -> None")
    def unload_model(model_name: str, unload_dependents: bool = False) -> None:
        """Unload a model; it need not be loaded.

        Parameters
        ----------
        unload_dependents
            Also unload models that were loaded only as parts of an ensemble.

        Raises
        ------
        TritonModelException
            The server refuses.
        """
        name, dependents = _until_nul(model_name), truth(unload_dependents)
        try:
            backend.unload_model(name, dependents)
        except Refusal as refusal:
            raise refusal_error(
                backend, "Failed to unload model: ", refusal
            ) from refusal

    return unload_model


def _is_model_ready(backend: EngineCalls) -> Any:
    @compiled("is_model_ready(model_name: str, model_version: str = '') -> bool")
    def is_model_ready(model_name: str, model_version: str = "") -> bool:
        """Return whether a model, or one version of it, is ready.

        Raises
        ------
        TritonModelException
            The version is not a number.
        """
        name, version = _until_nul(model_name), string(model_version)
        try:
            return backend.is_model_ready(name, version)
        except Refusal as refusal:
            failure = "Failed to check model readiness: "
            raise refusal_error(backend, failure, refusal) from None

    return is_model_ready


def bound_model_dir(backend: EngineCalls) -> Any:
    """Return the function ``get_model_dir`` of an instance."""

    @compiled("get_model_dir() -> str")
    def get_model_dir() -> str:
        """Return the folder of the model's version."""
        return backend.model_dir()

    return get_model_dir
