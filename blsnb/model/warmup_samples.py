"""WarmupSample: the requests by which a model is warmed up before it serves."""

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
"""Where a model's folder keeps the files that ``input_data_file`` names."""
INVALID = DType("TYPE_INVALID", "<invalid>", 0, None, 0)
"""The type of an input that names none."""
_LENGTH_BYTES = 4
_UNKNOWN_REQUEST = "[request id: <id_unknown>] "


@dataclass(frozen=True, slots=True)
class WarmupSample:
    """One ``model_warmup`` of a configuration, made up for one instance.

    Parameters
    ----------
    rounds
        How often it is executed.
    batch_size
        How many requests are executed together in a round.
    message
        Each of these requests.
    extra
        Inputs that the configuration does not declare: the model gets them
        unchecked, as it gets a sequence's controls.
    """

    name: str
    rounds: int
    batch_size: int
    message: RequestMessage
    extra: tuple[TensorRef, ...]

    def refused(self, instance_name: str, max_batch_size: int) -> list[str]:
        """Return the errors of a round that Triton's backend does not execute.

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
        problems = map(strings_problem, (*self.message.inputs, *self.extra))
        first = next(filter(None, problems), "")
        return [first] * self.batch_size if first else []


def warmup_samples(
    config: ModelConfig,
    read: Callable[[str], bytes],
    random: Callable[[int], bytes],
) -> Iterator[WarmupSample]:
    """Yield the samples of a configuration; one without a batch size is left out.

    Parameters
    ----------
    read
        Returns the bytes of a file in `FOLDER` of the model's folder, or raises
        OSError.
    random
        Returns so many random bytes.

    Raises
    ------
    ModelConfigError
        At stage ``create``: a dimension varies, or there are no data.

    References
    ----------
    core: src/backend_model_instance.cc, TritonModelInstance::GenerateWarmupData
    """
    for setting in config.message.model_warmup:
        if setting.batch_size:
            yield _Setting(config, setting, read, random).sample()


class _Setting:
    """One ``model_warmup`` being made a sample."""

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
        """Return the sample."""
        declared = [spec.name for spec in self._config.inputs]
        for name, given in self._inputs:
            # Of a declared input a dimension like -2 is found later; of others
            # Triton's server ends.
            least = min(given.dims, default=0)
            if -1 in given.dims or (least < 0 and name not in declared):
                raise _variable(name)
        sizes = [_byte_size(given) for _, given in self._inputs]
        # The inputs of all requests of all rounds begin with the same bytes.
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
                advice=f"input_data_file names a file in the model's folder {FOLDER}.",
            ) from error
        if _dtype(given) is BYTES:
            return found
        if len(found) < size:
            # Triton's text has no space after the file's name.
            raise ModelConfigError(
                f"{_UNKNOWN_REQUEST}warmup setting expects {size} bytes, but the data "
                f"provided from {filename}only has {len(found)} bytes",
                stage="create",
                advice=f"The file in {FOLDER} holds the elements' bytes, one by one, "
                "of a batch of 1.",
            )
        return found[:size]


def _variable(name: str) -> ModelConfigError:
    return ModelConfigError(
        "warmup setting expects all variable-size dimensions are specified for "
        f"input '{name}'",
        stage="create",
        advice="Give the sample's input dims without -1: those of one request, "
        "without the batch.",
    )


def _dtype(given: Any) -> DType:
    return BY_DATA_TYPE.get(data_type_name(given.data_type), INVALID)


def _byte_size(given: Any) -> int:
    """Return the bytes of one request's elements; of an empty text four."""
    element = _dtype(given).byte_size or _LENGTH_BYTES
    count = int(math.prod(given.dims))
    return max(0, count) * element


def strings_problem(ref: TensorRef) -> str:
    """Return why Triton's backend cannot read a BYTES input; nothing if it can.

    References
    ----------
    core: src/backend_common, ValidateStringBuffer
    """
    if ref.dtype is not BYTES:
        return ""
    data, wanted = bytes(ref.data or b""), math.prod(ref.shape)
    whose = f"for inference input '{ref.name}'"
    count = offset = 0
    while offset < len(data):
        left = len(data) - offset - _LENGTH_BYTES
        if count >= wanted:
            return (
                f"unexpected number of string elements {count + 1} {whose}, expecting "
                f"{wanted}"
            )
        if left < 0:
            return (
                f"incomplete string length indicator {whose}, expecting "
                f"{_LENGTH_BYTES} bytes but only {left + _LENGTH_BYTES} bytes "
                "available. Please make sure the string length indicator is in one "
                "buffer."
            )
        length = int.from_bytes(data[offset : offset + _LENGTH_BYTES], "little")
        if length > left:
            return (
                f"incomplete string data {whose}, expecting string of length {length} "
                f"but only {left} bytes available"
            )
        offset += _LENGTH_BYTES + length
        count += 1
    return "" if count == wanted else f"expected {wanted} strings {whose}, got {count}"
