"""Warm-up requests, which a model executes before it becomes ready."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import data_type_name
from blsnb.pb_utils.message import RequestMessage
from blsnb.tensors.dtypes import BY_DATA_TYPE, BYTES, DType
from blsnb.tensors.ref import TensorRef

FOLDER = "warmup"
"""Folder of the files that ``input_data_file`` names, in the model's folder."""
INVALID = DType("TYPE_INVALID", "<invalid>", 0, None, 0)
"""Type of an input without a ``data_type``."""
_LENGTH_BYTES = 4
_UNKNOWN_REQUEST = "[request id: <id_unknown>] "


@dataclass(frozen=True, slots=True)
class WarmupSample:
    """One ``model_warmup`` of a configuration, with its data for one instance.

    Parameters
    ----------
    rounds
        Number of executions.
    batch_size
        Number of requests in each execution.
    message
        The request.
    extra
        Inputs that the configuration does not declare. Like controls of a sequence,
        they reach the model without a check.
    """

    name: str
    rounds: int
    batch_size: int
    message: RequestMessage
    extra: tuple[TensorRef, ...]

    def errors(self, instance_name: str, max_batch_size: int) -> list[str]:
        """Return the errors of an execution that Triton's backend refuses.

        References
        ----------
        python_backend: src/python_be.cc, ModelInstanceState::ProcessRequests
        """
        if self.batch_size != 1 and self.batch_size > max_batch_size:
            text = (
                f"batch size {self.batch_size} for '{instance_name}', max allowed is "
                f"{max_batch_size}"
            )
            return [text] * self.batch_size
        if any(ref.dtype is INVALID for ref in self.extra):
            return [f"Stub process '{instance_name}' is not healthy."] * self.batch_size
        problems = map(strings_error, (*self.message.inputs, *self.extra))
        first = next(filter(None, problems), "")
        return [first] * self.batch_size if first else []


def warmup_samples(
    config: ModelConfig,
    read: Callable[[str], bytes],
    random: Callable[[int], bytes],
) -> Iterator[WarmupSample]:
    """Yield the samples of a configuration that have a batch size.

    Parameters
    ----------
    read
        Returns the contents of a file in `FOLDER`, or raises OSError.
    random
        Returns a number of random bytes.

    Raises
    ------
    ModelConfigError
        At stage ``create``: a dimension is variable, or data are missing.

    References
    ----------
    core: src/backend_model_instance.cc, TritonModelInstance::GenerateWarmupData
    """
    for setting in config.message.model_warmup:
        if setting.batch_size:
            yield _Setting(config, setting, read, random).sample()


class _Setting:
    """Builds the sample of one ``model_warmup``."""

    def __init__(
        self,
        config: ModelConfig,
        setting: Any,
        read: Callable[[str], bytes],
        random: Callable[[int], bytes],
    ) -> None:
        self._config = config
        self._setting = setting
        # Triton's order is that of a hash table.
        self._inputs = sorted(setting.inputs.items())
        self._read = read
        self._random = random

    def sample(self) -> WarmupSample:
        declared = [spec.name for spec in self._config.inputs]
        for name, given in self._inputs:
            # A dimension such as -2 of a declared input is refused later; that of
            # another input ends Triton's server.
            least = min(given.dims, default=0)
            if -1 in given.dims or (least < 0 and name not in declared):
                raise _variable(name)
        sizes = [_byte_size(given) for _, given in self._inputs]
        # As on Triton, all random inputs begin with the same bytes.
        buffer = self._random(max(sizes, default=0))
        refs = {name: self._ref(name, given, buffer) for name, given in self._inputs}
        inputs = tuple(refs[name] for name in dict.fromkeys(declared) if name in refs)
        message = RequestMessage(self._config.name, inputs)
        message.raw = True
        setting = self._setting
        return WarmupSample(
            setting.name,
            max(setting.count, 1),
            setting.batch_size,
            message,
            tuple(ref for name, ref in refs.items() if name not in declared),
        )

    def _ref(self, name: str, given: Any, buffer: bytes) -> TensorRef:
        batch = (1,) if self._config.max_batch_size else ()
        return TensorRef(
            name, _dtype(given), (*batch, *given.dims), self._data(name, given, buffer)
        )

    def _data(self, name: str, given: Any, buffer: bytes) -> bytes:
        size = _byte_size(given)
        match given.WhichOneof("input_data_type"):
            case "input_data_file":
                return self._from_file(given, size)
            case "random_data" if _dtype(given) is not BYTES:
                return buffer[:size]
            case "zero_data" | "random_data":
                return bytes(size)
        raise ModelConfigError(
            f"{_UNKNOWN_REQUEST}warmup setting expects input '{name}' to have "
            "input_data_type set",
            stage="create",
            advice="Write zero_data: true, random_data: true, or input_data_file.",
        )

    def _from_file(self, given: Any, size: int) -> bytes:
        filename = given.input_data_file
        try:
            found = self._read(filename)
        except OSError as error:
            raise ModelConfigError(
                f"failed to open text file for read {error.filename}: {error.strerror}",
                stage="create",
                code="INTERNAL",
                advice=f"Put the file into the folder {FOLDER} of the model's folder.",
            ) from error
        if _dtype(given) is BYTES:
            return found
        if len(found) < size:
            # Triton's text has no space after the file name.
            raise ModelConfigError(
                f"{_UNKNOWN_REQUEST}warmup setting expects {size} bytes, but the data "
                f"provided from {filename}only has {len(found)} bytes",
                stage="create",
                advice=f"The file in {FOLDER} must contain a batch of 1.",
            )
        return found[:size]


def _variable(name: str) -> ModelConfigError:
    return ModelConfigError(
        "warmup setting expects all variable-size dimensions are specified for "
        f"input '{name}'",
        stage="create",
        advice="Write the dims of one request, without the batch and without -1.",
    )


def _dtype(given: Any) -> DType:
    return BY_DATA_TYPE.get(data_type_name(given.data_type), INVALID)


def _byte_size(given: Any) -> int:
    """Return the number of bytes in one request; a string counts as its length."""
    element = _dtype(given).byte_size or _LENGTH_BYTES
    count = int(math.prod(given.dims))
    return max(0, count) * element


def strings_error(ref: TensorRef) -> str:
    """Return Triton's error for the buffer of a BYTES input; empty if it is valid.

    References
    ----------
    core: src/backend_common, ValidateStringBuffer
    """
    if ref.dtype is not BYTES:
        return ""
    data, expected = bytes(ref.data or b""), math.prod(ref.shape)
    whose = f"for inference input '{ref.name}'"
    count = offset = 0
    while offset < len(data):
        available = len(data) - offset - _LENGTH_BYTES
        if count >= expected:
            return (
                f"unexpected number of string elements {count + 1} {whose}, expecting "
                f"{expected}"
            )
        if available < 0:
            return (
                f"incomplete string length indicator {whose}, expecting "
                f"{_LENGTH_BYTES} bytes but only {available + _LENGTH_BYTES} bytes "
                "available. Please make sure the string length indicator is in one "
                "buffer."
            )
        length = int.from_bytes(data[offset : offset + _LENGTH_BYTES], "little")
        if length > available:
            return (
                f"incomplete string data {whose}, expecting string of length {length} "
                f"but only {available} bytes available"
            )
        offset += _LENGTH_BYTES + length
        count += 1
    if count == expected:
        return ""
    return f"expected {expected} strings {whose}, got {count}"
