"""Create the two modules that a model imports, bound to its instance's backend."""

from __future__ import annotations

import functools
import json
import struct
import types
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from blsnb.pb_utils import functions
from blsnb.pb_utils.backend import CurrentBackend, EngineCalls
from blsnb.pb_utils.compiled.compiled_type import CompiledType
from blsnb.pb_utils.compiled.enums import MemoryType, MetricKind
from blsnb.pb_utils.compiled.errors import TritonError, TritonModelException
from blsnb.pb_utils.compiled.releases import NEWEST, Release
from blsnb.pb_utils.config import ModelConfig
from blsnb.pb_utils.logger import bound_logger
from blsnb.pb_utils.metrics import Metric, bound_metric_family
from blsnb.pb_utils.model_control import bound_model_dir, control_functions
from blsnb.pb_utils.older_releases import Classes, classes_of
from blsnb.pb_utils.request import InferenceRequest
from blsnb.pb_utils.request_values import InferenceTrace, PreferredMemory
from blsnb.pb_utils.sender import InferenceResponseSender
from blsnb.pb_utils.tensor import Tensor

NAME = "triton_python_backend_utils"
COMPILED_NAME = "c_python_backend_utils"

_PURE: dict[str, Any] = {
    "ModelConfig": ModelConfig,
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START": 1,
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END": 2,
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL": 1,
    "TRITONSERVER_REQUEST_RELEASE_ALL": 1,
    "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE": 2,
    "TRITON_STRING_TO_NUMPY": functions.TRITON_STRING_TO_NUMPY,
    "deserialize_bytes_tensor": functions.deserialize_bytes_tensor,
    "get_input_config_by_name": functions.get_input_config_by_name,
    "get_input_tensor_by_name": functions.get_input_tensor_by_name,
    "get_output_config_by_name": functions.get_output_config_by_name,
    "get_output_tensor_by_name": functions.get_output_tensor_by_name,
    "json": json,
    "np": np,
    "numpy_to_triton_type": functions.numpy_to_triton_type,
    "serialize_byte_tensor": functions.serialize_byte_tensor,
    "struct": struct,
    "triton_string_to_numpy": functions.triton_string_to_numpy,
    "triton_to_numpy_type": functions.triton_to_numpy_type,
    "using_decoupled_model_transaction_policy": (
        functions.using_decoupled_model_transaction_policy
    ),
}
_COMPILED_NAMES = frozenset(
    {
        "InferenceRequest",
        "InferenceResponse",
        "Logger",
        "MetricFamily",
        "PreferredMemory",
        "TRITONSERVER_MEMORY_CPU",
        "TRITONSERVER_MEMORY_GPU",
        "Tensor",
        "TritonError",
        "TritonModelException",
        "get_model_dir",
        "is_model_ready",
        "load_model",
        "unload_model",
    }
)


def importing_module() -> types.ModuleType:
    """Return the module as it is while ``model.py`` is imported: Python names only.

    A compiled name raises Triton's AttributeError, with a note that names the fix.
    """
    module = types.ModuleType(NAME)
    # On Triton it is a file whose path is part of an error text.
    module.__file__, module.__package__ = functions.__file__, ""
    module.__dict__.update(_PURE)
    module.__dict__["__getattr__"] = functools.partial(_refuse, module)
    return module


def _refuse(module: types.ModuleType, name: str) -> Any:
    text = f"module {NAME!r} has no attribute {name!r}"
    error = AttributeError(text, name=name, obj=module)
    if name in _COMPILED_NAMES:
        # A note, since error texts contain the message alone, as on Triton.
        error.add_note(_import_hint(name))
    raise error


def _import_hint(name: str) -> str:
    return (
        f"Triton adds pb_utils.{name} after model.py has been imported. Use it "
        "inside a method; in annotations write `from __future__ import "
        "annotations` or quotes."
    )


def check_import(module: types.ModuleType, names: Iterable[str]) -> None:
    """Raise the ImportError of ``from … import NAME`` for compiled names, with a note.

    Parameters
    ----------
    module
        The module as it is while ``model.py`` is imported.
    """
    for name in names:
        if name in _COMPILED_NAMES and name not in module.__dict__:
            # Python would convert the AttributeError and drop its note.
            error = ImportError(
                f"cannot import name {name!r} from {NAME!r} ({module.__file__})",
                name=NAME,
                path=module.__file__,
            )
            error.add_note(_import_hint(name))
            raise error


def compiled_module(
    backend: EngineCalls, release: Release = NEWEST
) -> types.ModuleType:
    """Return the embedded module of a release, which a model may import at any time."""
    classes = classes_of(release)
    module = types.ModuleType(COMPILED_NAME)
    module.__dict__.update(
        InferenceRequest=bound_request(backend, classes),
        InferenceResponse=classes.response,
        InferenceResponseSender=InferenceResponseSender,
        InferenceTrace=InferenceTrace,
        Logger=bound_logger(backend),
        MemoryType=MemoryType,
        Metric=Metric,
        MetricFamily=bound_metric_family(backend),
        MetricKind=MetricKind,
        PreferredMemory=PreferredMemory,
        ResponseIterator=classes.iterator,
        TRITONSERVER_MEMORY_CPU=MemoryType(1),
        TRITONSERVER_MEMORY_GPU=MemoryType(0),
        Tensor=Tensor,
        TritonError=TritonError,
        TritonModelException=TritonModelException,
        **MetricKind.__members__,
        **control_functions(backend),
    )
    return module


def complete(
    module: types.ModuleType, compiled: types.ModuleType, backend: EngineCalls
) -> None:
    """Add the compiled names, as Triton does after importing ``model.py``."""
    module.__dict__.pop("__getattr__", None)
    module.__dict__["get_model_dir"] = bound_model_dir(backend)
    for name in _COMPILED_NAMES - {"get_model_dir"}:
        module.__dict__[name] = compiled.__dict__[name]


def bound_request(backend: EngineCalls, classes: Classes) -> type[InferenceRequest]:
    """Return the request class of an instance, whose ``exec`` calls its backend."""
    body = {
        "__slots__": (),
        "__module__": COMPILED_NAME,
        "_backend": backend,
        "_classes": classes,
    }
    bound: Any = CompiledType("InferenceRequest", (InferenceRequest,), body)
    return cast("type[InferenceRequest]", bound)


def unbound_modules() -> tuple[types.ModuleType, types.ModuleType]:
    """Return both modules for code outside of models, such as installed packages.

    BLS calls are refused, unless a model is running the code.
    """
    backend = cast("EngineCalls", CurrentBackend())
    module, compiled = importing_module(), compiled_module(backend)
    complete(module, compiled, backend)
    return module, compiled
