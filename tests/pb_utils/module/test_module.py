"""The modules that a model imports: their names, before and after its import."""

from __future__ import annotations

import types

import pytest

from blsnb.pb_utils.backend import UnboundBackend
from blsnb.pb_utils.module.module import (
    check_import,
    compiled_module,
    complete,
    importing_module,
)

FLAGS = {
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START": 1,
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END": 2,
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL": 1,
    "TRITONSERVER_REQUEST_RELEASE_ALL": 1,
    "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE": 2,
}
PURE = {
    "ModelConfig",
    "TRITON_STRING_TO_NUMPY",
    "deserialize_bytes_tensor",
    "get_input_config_by_name",
    "get_input_tensor_by_name",
    "get_output_config_by_name",
    "get_output_tensor_by_name",
    "json",
    "np",
    "numpy_to_triton_type",
    "serialize_byte_tensor",
    "struct",
    "triton_string_to_numpy",
    "triton_to_numpy_type",
    "using_decoupled_model_transaction_policy",
    *FLAGS,
}
ADDED = {
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
COMPILED = (ADDED - {"get_model_dir"}) | {
    "COUNTER",
    "GAUGE",
    "HISTOGRAM",
    "InferenceResponseSender",
    "InferenceTrace",
    "MemoryType",
    "Metric",
    "MetricKind",
    "ResponseIterator",
}
NAME = "triton_python_backend_utils"
HINT = (
    "Triton adds pb_utils.Tensor after model.py has been imported. Use it inside a "
    "method; in annotations write `from __future__ import annotations` or quotes."
)


def public(module: types.ModuleType) -> set[str]:
    """Return the names of a module that are not Python's own."""
    return {name for name in vars(module) if not name.startswith("__")}


def test_compiled_names_are_added_after_the_import() -> None:
    """The flags are Triton's numbers at all times."""
    module = importing_module()
    compiled = compiled_module(UnboundBackend())
    before = public(module)
    complete(module, compiled, UnboundBackend())

    assert PURE == before
    assert FLAGS == {name: getattr(module, name) for name in FLAGS}
    assert PURE | ADDED == public(module)
    assert COMPILED == public(compiled)
    assert (NAME, "c_python_backend_utils") == (module.__name__, compiled.__name__)
    assert (1, 0) == (
        module.TRITONSERVER_MEMORY_CPU.value,
        module.TRITONSERVER_MEMORY_GPU.value,
    )
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = module.absent


@pytest.mark.parametrize(("name", "notes"), [("Tensor", [HINT]), ("Foo", [])])
def test_a_name_that_is_too_early_has_a_note(name: str, notes: list[str]) -> None:
    """The text is Triton's."""
    module = importing_module()
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)

    assert f"module '{NAME}' has no attribute '{name}'" == str(caught.value)
    assert notes == getattr(caught.value, "__notes__", [])
    assert (name, module) == (caught.value.name, caught.value.obj)


def test_a_name_that_is_imported_too_early_has_a_note() -> None:
    """Other names are left to Python."""
    module = importing_module()
    assert check_import(module, ["json", "absent"]) is None
    with pytest.raises(ImportError) as caught:
        check_import(module, ["json", "Tensor"])
    error = caught.value
    compiled = compiled_module(UnboundBackend())
    complete(module, compiled, UnboundBackend())

    assert f"cannot import name 'Tensor' from '{NAME}' ({module.__file__})" == error.msg
    assert (NAME, module.__file__, [HINT]) == (error.name, error.path, error.__notes__)
    assert check_import(module, ["Tensor"]) is None
