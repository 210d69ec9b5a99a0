"""NVIDIA's protobuf message ``inference.ModelConfig``, loaded without grpc."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = "tritonclient.grpc.model_config_pb2"


@cache
def schema() -> ModuleType:
    """Return ``tritonclient.grpc.model_config_pb2``.

    An ordinary import would run ``tritonclient/grpc/__init__``, which imports grpc.
    The file is loaded under its canonical name, so that a later import of
    ``tritonclient.grpc`` uses it and no message is registered twice.
    """
    loaded = sys.modules.get(_NAME)
    if loaded is not None:
        return loaded
    spec = importlib.util.spec_from_file_location(_NAME, _schema_file())
    if spec is None or spec.loader is None:
        raise ImportError(f"{_NAME} cannot be loaded", name=_NAME)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_NAME]
        raise
    return module


def new_message() -> Any:
    """Return an empty ``inference.ModelConfig``."""
    return schema().ModelConfig()


def data_type_name(number: int) -> str:
    """Return ``"TYPE_FP32"`` for 11; an unknown number as text."""
    row = schema().DataType.DESCRIPTOR.values_by_number.get(number)
    return str(number) if row is None else str(row.name)


def _schema_file() -> Path:
    package = importlib.util.find_spec("tritonclient")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder, "grpc", "model_config_pb2.py")
        if path.is_file():
            return path
    raise ImportError(
        "blsnb needs tritonclient's schema of model configurations: "
        'pip install "tritonclient[grpc]"',
        name=_NAME,
    )
