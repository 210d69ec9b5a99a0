"""Backend, platform and model file are deduced as on Triton."""

from __future__ import annotations

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.backend_fields import Entries, identifies_backend
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.normalization import normalise

PY = {"model.py": False}
ONNX = {"model.onnx": False}


def normal(text: str, entries: Entries = PY, name: str = "m") -> ModelConfig:
    return normalise(parse_pbtxt(text), model_name=name, entries=entries)


@pytest.mark.parametrize(
    ("text", "entries", "fields"),
    [
        ("", PY, ("python", "", "model.py")),
        ("backend: 'python'", {}, ("python", "", "model.py")),
        ("default_model_filename: 'model.py'", {}, ("python", "", "model.py")),
        (
            "backend: 'python' default_model_filename: 'a.py'",
            PY,
            ("python", "", "a.py"),
        ),
        (
            "backend: 'python' platform: 'tensorflow_graphdef'",
            PY,
            ("python", "tensorflow_graphdef", "model.graphdef"),
        ),
        (
            "backend: 'python' platform: 'onnxruntime_onnx'",
            PY,
            ("python", "onnxruntime_onnx", "model.py"),
        ),
        ("platform: 'foo'", PY, ("", "foo", "")),
        ("backend: 'vllm'", {"model.json": False}, ("vllm", "", "")),
        ("", ONNX, ("onnxruntime", "onnxruntime_onnx", "model.onnx")),
        ("", {"model.onnx": True}, ("onnxruntime", "onnxruntime_onnx", "model.onnx")),
        ("", PY | ONNX, ("onnxruntime", "onnxruntime_onnx", "model.onnx")),
        (
            "platform: 'onnxruntime_onnx'",
            ONNX,
            ("onnxruntime", "onnxruntime_onnx", "model.onnx"),
        ),
        (
            "backend: 'onnxruntime' default_model_filename: 'a.onnx'",
            {},
            ("onnxruntime", "onnxruntime_onnx", "a.onnx"),
        ),
        (
            "",
            ONNX | {"model.plan": False},
            ("tensorrt", "tensorrt_plan", "model.plan"),
        ),
        ("", {"model.xml": False}, ("openvino", "", "model.xml")),
        ("", {"model.pt": False}, ("pytorch", "pytorch_libtorch", "model.pt")),
        (
            "platform: 'pytorch_libtorch'",
            {},
            ("pytorch", "pytorch_libtorch", "model.pt"),
        ),
        (
            "",
            {"model.savedmodel": True},
            ("tensorflow", "tensorflow_savedmodel", "model.savedmodel"),
        ),
        (
            "",
            {"model.savedmodel": True, "model.graphdef": False},
            ("tensorflow", "tensorflow_graphdef", "model.graphdef"),
        ),
        (
            "default_model_filename: 'model.savedmodel'",
            {},
            ("tensorflow", "tensorflow_savedmodel", "model.savedmodel"),
        ),
    ],
)
def test_the_backend_is_deduced(
    text: str, entries: Entries, fields: tuple[str, ...]
) -> None:
    """Files, their names and the platform count in Triton's order."""
    message = normal(text, entries).message

    assert fields == (message.backend, message.platform, message.default_model_filename)


def test_a_dotted_name_contains_the_backend() -> None:
    """Without files the model's name has the backend."""
    config = normal("", {}, "model.identity")

    assert ("identity", "model.identity") == (
        config.backend,
        config.default_model_filename,
    )


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"model.bin": False},
        {"model.plan": True},
        {"model.pt": True},
        {"model.savedmodel": False},
        {"model.graphdef": True},
    ],
)
def test_no_backend_is_an_error_of_the_poll_stage(entries: Entries) -> None:
    """The text is Triton's; a folder is not always a model."""
    assert not identifies_backend(entries)
    with pytest.raises(ModelConfigError) as caught:
        normal("", entries)

    assert (
        "Invalid model name: Could not determine backend for model 'm' with no backend "
        "in model configuration. Expected model name of the form "
        "'model.<backend_name>'." == caught.value.message
    )
    assert "poll" == caught.value.stage
    assert (
        'A Python model needs m/1/model.py or backend: "python". Of several versions '
        "Triton looks into the folder whose name sorts first." == caught.value.advice
    )
