"""Sessions of ONNX Runtime with the options of a configuration."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import onnxruntime

from blsnb.errors import BackendError
from blsnb.model.config import ModelConfig

_FILE = "model.onnx"
_MESSAGE = re.compile(
    r"\[ONNXRuntimeError\] : (?P<code>\d+) : \w+ : (?P<text>.*)", re.DOTALL
)
_NUMBER = re.compile(r"\s*([+-]?\d+)")
_LEVELS = {-1: "ORT_ENABLE_BASIC", 1: "ORT_ENABLE_EXTENDED", 2: "ORT_DISABLE_ALL"}
_TRUE = ("true", "on", "1")
_FALSE = ("false", "off", "0")
_SHRINKAGE = "memory.enable_memory_arena_shrinkage"
_FATAL = 4
"""Minimum severity of log messages; errors are raised as exceptions anyway."""


def open_session(config: ModelConfig, options: Any, version: Path) -> Any:
    """Return a session of a version's model, on the CPU.

    References
    ----------
    onnxruntime_backend: src/onnxruntime.cc, ModelState::LoadModel
    """
    path = version / (config.default_model_filename or _FILE)
    if not path.exists():
        raise BackendError(f"failed to stat file {path}")
    if path.is_dir():
        path /= _FILE
    if not path.exists():
        text = f"unable to find '{path}' for model instance '{config.name}'"
        raise BackendError(text, "UNAVAILABLE")
    with onnx_errors():
        return onnxruntime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )


@contextlib.contextmanager
def onnx_errors() -> Iterator[None]:
    """Raise errors of ONNX Runtime as a `BackendError` with Triton's text.

    References
    ----------
    onnxruntime_backend: src/onnxruntime_utils.h, RETURN_IF_ORT_ERROR
    """
    try:
        yield
    except Exception as error:
        match = _MESSAGE.fullmatch(str(error))
        if match is None:
            raise
        text = f"onnx runtime error {match['code']}: {match['text']}"
        raise BackendError(text) from error


def session_options(config: ModelConfig, instance_count: int) -> Any:
    """Return the session options of a configuration.

    By default all instances together have one thread for each core; on Triton each
    instance has that many.

    References
    ----------
    onnxruntime_backend: src/onnxruntime.cc, ModelState::ModelState; README.md, Model
    Config Options
    """
    parameters = config.parameters
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    optimization = config.message.optimization
    level = _LEVELS.get(optimization.graph.level, "ORT_ENABLE_ALL")
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, level
    )
    options.execution_mode = _execution_mode(parameters)
    threads = max(1, _core_count() // instance_count)
    for name in ("intra_op", "inter_op"):
        count = _integer(parameters, f"{name}_thread_count")
        setattr(options, f"{name}_num_threads", count if count > 0 else threads)
    for name, option in (
        ("enable_mem_arena", "enable_cpu_mem_arena"),
        ("enable_mem_pattern", "enable_mem_pattern"),
    ):
        if name in parameters:
            setattr(options, option, _boolean(parameters[name]))
    _refuse_accelerators(optimization)
    with onnx_errors():
        for library in config.message.model_operations.op_library_filename:
            options.register_custom_ops_library(library)
    return options


def run_options(config: ModelConfig) -> Any:
    """Return the run options of a configuration."""
    options = onnxruntime.RunOptions()
    options.log_severity_level = _FATAL
    if _SHRINKAGE in config.parameters:
        with onnx_errors():
            options.add_run_config_entry(_SHRINKAGE, config.parameters[_SHRINKAGE])
    return options


def _core_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _execution_mode(parameters: dict[str, str]) -> Any:
    mode = _integer(parameters, "execution_mode")
    if mode not in (0, 1):
        # The two spaces are Triton's.
        raise BackendError(
            "Invalid configuration value provided. Expected values for  execution_mode "
            f"are 0 or 1 but got {mode} .",
            "INVALID_ARG",
        )
    modes = onnxruntime.ExecutionMode
    return modes.ORT_PARALLEL if mode else modes.ORT_SEQUENTIAL


def _refuse_accelerators(optimization: Any) -> None:
    """Refuse accelerators, as a build of Triton's backend without them does."""
    for each in optimization.execution_accelerators.cpu_execution_accelerator:
        raise BackendError(
            f"unknown Execution Accelerator '{each.name}' is requested", "INVALID_ARG"
        )


def _integer(parameters: dict[str, str], name: str) -> int:
    """Parse a number as C++ does: text after it is ignored."""
    text = parameters.get(name, "0")
    match = _NUMBER.match(text)
    if match is None:
        _refuse(text, "integral number")
    return int(match[1])


def _boolean(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        _refuse(text, "boolean")
    return text.lower() in _TRUE


def _refuse(text: str, what: str) -> NoReturn:
    raise BackendError(f"failed to convert '{text}' to {what}", "INVALID_ARG")
