"""Requests as gRPC brings them, and as blsnb takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.metadata import parse_version
from blsnb.serving.core.parameters import named_twice, until_nul
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.wire import WireInput, WireOutput, WireRequest
from blsnb.serving.grpc.contents import contents_bytes
from blsnb.serving.grpc.parameters import parameters_of

_CLASSES = "classification"
_REGION = "shared_memory_region"
_OFFSET = "shared_memory_offset"
_SIZE = "shared_memory_byte_size"
_SIZES = 2**64


class GrpcRequest(NamedTuple):
    """A request, and what its client wants of the stream.

    Parameters
    ----------
    empty_final
        Whether a final flag that comes alone is sent.
    """

    request: WireRequest
    empty_final: bool


def version_of(text: str) -> int:
    """Return the version that a request names; -1 for none, the server's choice.

    Raises
    ------
    RequestError
        It is none; the text is Triton's.
    """
    if text.strip().startswith("-") and _is_number(text):
        raise RequestError(
            f"invalid model version specified '{text}' , version should be an "
            "integral value > 0"
        )
    return parse_version(text)


def _is_number(text: str) -> bool:
    try:
        parse_version(text.replace("-", "", 1))
    except RequestError:
        return False
    return True


def request_of(asked: Any, version: int, memory: SharedMemory) -> GrpcRequest:
    """Return a request, with its bytes from wherever they are.

    Raises
    ------
    RequestError
        It makes no sense; the text is Triton's.

    References
    ----------
    server: src/grpc/infer_handler.cc, ModelInferHandler::Execute
    """
    parameters = parameters_of(asked.parameters)
    _refuse_twice(asked)
    request = WireRequest(
        until_nul(asked.model_name),
        parameters.fields(version, until_nul(asked.id)),
        _inputs(asked, memory),
        tuple(_output(each, memory) for each in asked.outputs),
    )
    return GrpcRequest(request, parameters.empty_final)


def _refuse_twice(asked: Any) -> None:
    """Refuse an input that is there twice, before its bytes are looked for."""
    seen: set[str] = set()
    for tensor in asked.inputs:
        if tensor.name in seen:
            raise named_twice(asked.id, tensor.name)
        seen.add(tensor.name)


def _inputs(asked: Any, memory: SharedMemory) -> tuple[WireInput, ...]:
    raw = iter(asked.raw_input_contents)
    many = bool(asked.raw_input_contents)
    return tuple(
        WireInput(
            until_nul(tensor.name),
            until_nul(tensor.datatype),
            tuple(tensor.shape),
            _elements(tensor, raw, many, memory, asked.model_name),
        )
        for tensor in asked.inputs
    )


def _elements(
    tensor: Any, raw: Any, has_raw: bool, memory: SharedMemory, model_name: str
) -> bytes:
    part = _part_of(tensor) if tensor.parameters else None
    explicit = tensor.HasField("contents")
    if part is not None:
        if explicit:
            raise RequestError(
                "unexpected 'content' provided when using shared memory for input "
                f"tensor '{tensor.name}' for model '{model_name}'"
            )
        return memory.window(*part).read()
    if explicit and has_raw:
        raise RequestError(
            "contents field must not be specified when using raw_input_contents for "
            f"'{tensor.name}' for model '{model_name}'"
        )
    if explicit:
        return contents_bytes(tensor, model_name)
    found: bytes | None = next(raw, None)
    if found is None:
        raise RequestError(
            f"unable to find data for input tensor '{tensor.name}' for model "
            f"'{model_name}' in request."
        )
    return found


def _output(wanted: Any, memory: SharedMemory) -> WireOutput:
    if not wanted.parameters:
        return WireOutput(until_nul(wanted.name))
    part = _part_of(wanted)
    count = _class_count(wanted)
    if part is not None and count:
        raise RequestError(
            "output can't set both 'shared_memory_region' and 'classification'"
        )
    window = None if part is None else memory.window(*part)
    return WireOutput(until_nul(wanted.name), count, window)


def _class_count(wanted: Any) -> int:
    given = wanted.parameters.get(_CLASSES)
    if given is None:
        return 0
    if given.WhichOneof("parameter_choice") != "int64_param":
        raise RequestError(
            f"invalid value type for '{_CLASSES}' parameter, expected int64_param"
        )
    if given.int64_param <= 0:
        raise RequestError(f"invalid value for '{_CLASSES}' parameter, expected >= 0")
    return int(given.int64_param)


def _part_of(tensor: Any) -> tuple[str, int, int] | None:
    """Return region, offset and size that a tensor's parameters name, if they do.

    Raises
    ------
    RequestError
        The parameters do not go together.

    References
    ----------
    server: src/grpc/grpc_utils.h, ParseSharedMemoryParams
    """
    region = _parameter(tensor, _REGION, "string_param")
    offset = _parameter(tensor, _OFFSET, "int64_param")
    size = _parameter(tensor, _SIZE, "int64_param")
    if region is None:
        for name, value in ((_OFFSET, offset), (_SIZE, size)):
            if value is not None:
                raise RequestError(
                    f"'{name}' can not be specified without '{_REGION}' parameter for "
                    f"tensor '{tensor.name}'"
                )
        return None
    if size is None:
        raise RequestError(
            f"'{_SIZE}' must be specified along with '{_REGION}' parameter for tensor "
            f"'{tensor.name}'"
        )
    # As Triton counts: a negative number is a huge one.
    return region, (offset or 0) % _SIZES, size % _SIZES


def _parameter(tensor: Any, name: str, kind: str) -> Any:
    # A look into the map would make an entry.
    given = tensor.parameters.get(name)
    if given is None:
        return None
    if given.WhichOneof("parameter_choice") != kind:
        raise RequestError(
            f"invalid value type for '{name}' parameter for tensor '{tensor.name}', "
            f"expected {kind}."
        )
    return getattr(given, kind)
