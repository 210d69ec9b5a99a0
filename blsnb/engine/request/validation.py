"""The checks of Triton's core before a model receives a request."""

from __future__ import annotations

import math
from typing import NamedTuple

from blsnb.arguments import names_advice
from blsnb.engine.request.advice import datatype_advice, input_advice, shape_advice
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.model.rules.hash_order import hash_order
from blsnb.pb_utils.message import RequestMessage
from blsnb.printable import counted, shape_text
from blsnb.request_fields import Parameter
from blsnb.tensors.dtypes import BYTES, Shape
from blsnb.tensors.ref import TensorRef

REMEMBERED = 512
"""Maximum number of valid signatures kept per model."""
_LENGTH_BYTES = 4
_MAX_TEXT_ID = 128
"""Maximum number of bytes of a correlation ID that is a string."""
_BATCH_NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch "
    "dimension to be prepended to each input shape. If you want to specify the full "
    "shape including the batch dim in your input dims config, try setting "
    "max_batch_size to zero. See the model configuration docs for more info on "
    "max_batch_size."
)


class RequestError(Exception):
    """A request was refused before a model received it.

    Parameters
    ----------
    message
        Triton's text.
    code
        Name of Triton's error code.
    advice
        How to fix the request.
    """

    def __init__(self, message: str, code: str = "INVALID_ARG", advice: str = ""):
        super().__init__(message)
        self.message = message
        self.code = code
        self.advice = advice


def check_correlation_id(correlation_id: Parameter) -> None:
    """Refuse a string that is longer than those that Triton keeps.

    References
    ----------
    core: src/infer_request.h, SequenceId
    """
    if isinstance(correlation_id, str) and len(correlation_id.encode()) > _MAX_TEXT_ID:
        raise RequestError(
            f"string correlation ID cannot be longer than {_MAX_TEXT_ID} characters",
            "UNSUPPORTED",
        )


class _Input(NamedTuple):
    spec: TensorSpec
    expected: Shape
    """Expected shape of an input, with the batch axis first if there is one."""


class RequestValidator:
    """Checks requests against one model's configuration.

    Signatures of valid requests are cached, so that a loop of equal requests is checked
    once: only what is part of the signature may be checked here.

    References
    ----------
    core: src/infer_request.cc, InferenceRequest::Normalize
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._model = config.name
        self._max_batch_size = config.max_batch_size
        batch = (-1,) if config.max_batch_size > 0 else ()
        self._inputs: dict[str, _Input] = {}
        for spec in config.inputs:
            # Of inputs with one name Triton knows the first, and counts all.
            known = _Input(spec, batch + tuple(spec.dims))
            self._inputs.setdefault(spec.name, known)
        self._specs = config.inputs
        self._outputs = frozenset(spec.name for spec in config.outputs)
        self._optional = sum(spec.optional for spec in config.inputs)
        self._right: set[tuple[object, ...]] = set()
        self._last: tuple[object, ...] = (self,)

    def check(self, message: RequestMessage) -> None:
        """Refuse an invalid request with Triton's text, checking in Triton's order.

        Raises
        ------
        RequestError
            An input or a requested output contradicts the configuration.
        """
        if message.raw or len(message.inputs) > len(self._specs):
            # Too many inputs are refused; a signature of them would only take time.
            self._check(message)
            return
        signature: tuple[object, ...] = message.requested_outputs
        for ref in message.inputs:
            signature += (ref.name, ref.dtype, ref.shape)
        # Hashing it costs more than comparing it.
        if signature != self._last:
            self._check_new(message, signature)

    def _check_new(
        self, message: RequestMessage, signature: tuple[object, ...]
    ) -> None:
        if signature not in self._right:
            self._check(message)
            if len(self._right) >= REMEMBERED:
                self._right.clear()
            self._right.add(signature)
        self._last = signature

    def _check(self, message: RequestMessage) -> None:
        request = message.fields.prefix
        inputs = self._by_name(message, request)
        _check_unique(message, request)
        self._check_requested(message)
        self._check_count(list(inputs), request)
        if self._max_batch_size:
            self._check_batch(inputs, request)
        else:
            for name in inputs:
                self._known(name)
        for ref in inputs.values():
            self._check_tensor(ref, request)
            if message.raw:
                self._check_bytes(ref, self._counted_shape(ref), request)
        if self._max_batch_size:
            self._check_counted_batch(inputs, request)

    def _by_name(self, message: RequestMessage, request: str) -> dict[str, TensorRef]:
        """Return the inputs in the order in which Triton visits them."""
        inputs: dict[str, TensorRef] = {}
        for ref in message.inputs:
            if ref.name in inputs:
                raise RequestError(
                    f"{request}input '{ref.name}' already exists in request"
                )
            inputs[ref.name] = ref
        return {name: inputs[name] for name in hash_order(inputs)}

    def _check_requested(self, message: RequestMessage) -> None:
        # Triton keeps them in a sorted set.
        for name in sorted(message.requested_outputs):
            if name not in self._outputs:
                raise RequestError(
                    f"unexpected inference output '{name}' for model '{self._model}'",
                    advice=names_advice(name, "outputs", sorted(self._outputs)),
                )

    def _check_count(self, given: list[str], request: str) -> None:
        most = len(self._specs)
        least = most - self._optional
        if least <= len(given) <= most:
            return
        missing = [
            spec.name
            for spec in self._specs
            if not spec.optional and spec.name not in given
        ]
        expected = f"{most} inputs"
        if self._optional:
            expected = f"number of inputs between {least} and {most}"
        # Triton's text has a lone bracket when nothing is missing.
        raise RequestError(
            f"{request}expected {expected} but got {len(given)} inputs for model "
            f"'{self._model}'. Got input(s) [{_quoted(given)}], but missing required "
            f"input(s) {'[' + _quoted(missing) if missing else ''}]. Please provide "
            "all required input(s).",
            advice=input_advice(given, missing, list(self._inputs)),
        )

    def _known(self, name: str) -> _Input:
        known = self._inputs.get(name)
        if known is None:
            raise RequestError(
                f"unexpected inference input '{name}' for model '{self._model}'",
                advice=names_advice(name, "inputs", list(self._inputs)),
            )
        return known

    def _check_batch(self, inputs: dict[str, TensorRef], request: str) -> None:
        batch_size = 0
        for ref in inputs.values():
            self._known(ref.name)
            if not ref.shape:
                raise RequestError(
                    f"{request}input '{ref.name}' has no shape but model requires "
                    f"batch dimension for '{self._model}'"
                )
            if batch_size not in (0, ref.shape[0]):
                raise RequestError(
                    f"{request}input '{ref.name}' batch size does not match other "
                    f"inputs for '{self._model}'"
                )
            batch_size = _counted(ref.shape[0])
        sizes = (_counted(ref.shape[0]) for ref in inputs.values())
        if any(self._max_batch_size < size < 2**31 for size in sizes):
            raise self._too_large(request)

    def _too_large(self, request: str) -> RequestError:
        return RequestError(
            f"{request}inference request batch-size must be <= "
            f"{self._max_batch_size} for '{self._model}'",
            advice="The first axis is the batch: send "
            f"{counted(self._max_batch_size, 'row')} at most in a request, or raise "
            "max_batch_size.",
        )

    def _check_counted_batch(self, inputs: dict[str, TensorRef], request: str) -> None:
        """Refuse a batch whose size exceeds the integers with which Triton counts it.

        A size that is negative there is refused by the instance, one that is zero is
        never answered.
        """
        for ref in inputs.values():
            size = _counted(ref.shape[0])
            if size == ref.shape[0] and size < 2**31:
                continue
            if size < 2**31:
                raise self._too_large(request)
            instance = self._config.instance_names()[0].name
            raise RequestError(
                f"batch size {size} for '{instance}', max allowed is "
                f"{self._max_batch_size}",
                "INTERNAL",
            )

    def _check_tensor(self, ref: TensorRef, request: str) -> None:
        spec, expected = self._known(ref.name)
        if ref.dtype.datatype != spec.datatype:
            raise RequestError(
                f"{request}inference input '{ref.name}' data-type is "
                f"'{ref.dtype.datatype}', but model '{self._model}' expects "
                f"'{spec.datatype}'",
                advice=datatype_advice(ref, spec),
            )
        self._check_shape(ref, expected, request)
        if self._max_batch_size and ref.shape[0] == 0:
            # Triton takes the rest of the shape for that of the whole tensor.
            self._check_bytes(ref, ref.shape[1:], request)
            raise RequestError(
                f"{request}input '{ref.name}' for model '{self._model}' has no rows; "
                "expected at least 1"
            )

    def _check_shape(self, ref: TensorRef, expected: Shape, request: str) -> None:
        rank_fits = len(ref.shape) == len(expected)
        batch_axes = 1 if self._max_batch_size else 0
        if rank_fits and -1 in ref.shape[batch_axes:]:
            raise RequestError(
                f"{request}All input dimensions should be specified for input "
                f"'{ref.name}' for model '{self._model}', got {shape_text(ref.shape)}"
            )
        if not fits(ref.shape, expected):
            note = _BATCH_NOTE if self._max_batch_size else ""
            raise RequestError(
                f"{request}unexpected shape for input '{ref.name}' for model "
                f"'{self._model}'. Expected {shape_text(expected)}, got "
                f"{shape_text(ref.shape)}. {note}",
                advice=shape_advice(ref.shape, expected, bool(self._max_batch_size)),
            )

    def _counted_shape(self, ref: TensorRef) -> Shape:
        """Return the shape by which Triton counts a client's elements."""
        if not self._max_batch_size:
            return ref.shape
        return (_counted(ref.shape[0]), *ref.shape[1:])

    def _check_bytes(self, ref: TensorRef, shape: Shape, request: str) -> None:
        """Check the byte size of a tensor against its shape."""
        if ref.dtype is BYTES:
            self._check_strings(ref, math.prod(shape), request)
            return
        size = math.prod(shape) * ref.dtype.byte_size
        if ref.byte_size != size:
            self._refuse_size(ref, size, request)

    def _refuse_size(self, ref: TensorRef, expected: int, request: str) -> None:
        # Triton counts with 64 bits. Where its count is that of the given bytes, the
        # model's process ends there.
        counted = (expected + 2**63) % 2**64 - 2**63
        said = expected if counted == ref.byte_size else counted
        raise RequestError(
            f"{request}input byte size mismatch for input '{ref.name}' for model "
            f"'{self._model}'. Expected {said}, got {ref.byte_size}"
        )

    def _check_strings(self, ref: TensorRef, wanted: int, request: str) -> None:
        whose = f"inference input '{ref.name}' for model '{self._model}'"
        data = bytes(ref.data or b"")
        count = offset = length = left = 0
        while offset < len(data):
            if count >= wanted:
                raise RequestError(
                    f"{request}unexpected number of string elements {count + 1} for "
                    f"{whose}, expecting {wanted}"
                )
            left = len(data) - offset
            if left < _LENGTH_BYTES:
                raise RequestError(
                    f"{request}incomplete string length indicator for {whose}, "
                    f"expecting {_LENGTH_BYTES} bytes but only {left} bytes available. "
                    "Please make sure the string length indicator is in one buffer."
                )
            length = int.from_bytes(data[offset : offset + _LENGTH_BYTES], "little")
            left -= _LENGTH_BYTES
            offset += _LENGTH_BYTES + length
            count += 1
        if count != wanted:
            raise RequestError(
                f"{request}expected {wanted} string elements for {whose}, got {count}"
            )
        if offset > len(data):
            # The core only counts elements; the backend detects a truncated one.
            raise RequestError(
                f"incomplete string data for inference input '{ref.name}', expecting "
                f"string of length {length} but only {left} bytes available"
            )


def _counted(batch_size: int) -> int:
    """Return a batch size as Triton stores it: in 32 bits without a sign."""
    return batch_size % 2**32


def _quoted(names: list[str]) -> str:
    return ",".join(f"'{name}'" for name in names)


def fits(shape: Shape, expected: Shape) -> bool:
    """Whether a shape matches the configured one, where -1 matches any length."""
    if len(shape) != len(expected):
        return False
    return all(want in (-1, have) for have, want in zip(shape, expected, strict=True))


def _check_unique(message: RequestMessage, request: str) -> None:
    """Refuse a repeated output, which older releases never pass on."""
    names = message.requested_outputs
    if len(set(names)) == len(names):
        return
    name = next(name for name in names if names.count(name) > 1)
    raise RequestError(
        f"{request}Duplicate output name '{name}' is not allowed in a request"
    )
