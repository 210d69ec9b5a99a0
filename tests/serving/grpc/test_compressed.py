"""Compressed gRPC messages: decompressed as by Triton, within a limit."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Iterator

import grpc
import pytest
from cells import CONFIG, DOUBLE
from tritonclient.grpc import service_pb2 as pb

from blsnb.files.read_budget import MIN_BYTES, RATIO, ReadLimitError
from blsnb.inference_server import Server
from blsnb.serving.grpc.compressed import _varint, decompressed

from .over_grpc import CALL_S, Connection, connected, infer_request, values

KINDS = [grpc.Compression.Gzip, grpc.Compression.Deflate]
DESCRIPTOR = pb.ModelInferRequest.DESCRIPTOR
RAW = pb.ModelInferRequest(raw_input_contents=[bytes(1 << 18)])
EMPTY_INPUT, EMPTY_OUTPUT, EMPTY_RAW = b"\x2a\x00", b"\x32\x00", b"\x3a\x00"


def parameters() -> pb.ModelInferRequest:
    """Return a request with many parameters of an input."""
    nested = pb.ModelInferRequest.InferInputTensor()
    for number in range(20_000):
        nested.parameters[str(number)].bool_param = True
    return pb.ModelInferRequest(inputs=[nested])


def numbers() -> pb.ModelInferRequest:
    """Return a request with many numbers in an input."""
    values = {"int64_contents": [1] * 2_000_000}
    return pb.ModelInferRequest(inputs=[{"contents": values}])


FLOODS = {
    "raw contents": lambda: pb.ModelInferRequest(raw_input_contents=[bytes(1 << 25)]),
    "inputs": lambda: EMPTY_INPUT * 1_000_000,
    "outputs": lambda: EMPTY_OUTPUT * 1_000_000,
    "raw": lambda: EMPTY_RAW * 1_000_000,
    "parameters": parameters,
    "numbers": numbers,
    "unknown": lambda: b"\x7a\x00" * 1_000_000,
}


@pytest.fixture
def wire(server: Server) -> Iterator[Connection]:
    """A connection to a server with a model."""
    server.define("double", DOUBLE, config=CONFIG)
    with connected(server) as connection:
        yield connection


def zeros() -> pb.ModelInferRequest:
    """A request that compresses a thousand times."""
    request = infer_request("double", id="q")
    request.inputs[0].shape[:] = [1 << 22]
    request.raw_input_contents[:] = [bytes(1 << 24)]
    return request


def refusal(compressed: int) -> str:
    """Return the error for a message of this size."""
    limit = max(MIN_BYTES, RATIO * compressed)
    return f"would take more than {limit:,} bytes of memory; to allow more, set blsnb"


@pytest.mark.parametrize("kind", KINDS)
def test_a_compressed_message_is_read(wire: Connection, kind: grpc.Compression) -> None:
    """It is read like a message without compression."""
    request = infer_request("double", *range(1000))

    reply = wire.stub.ModelInfer(request, compression=kind, timeout=CALL_S)

    assert [2.0 * each for each in range(1000)] == values(reply)


@pytest.mark.parametrize("kind", KINDS)
def test_a_compressed_message_beyond_the_limit_is_refused(
    wire: Connection, kind: grpc.Compression
) -> None:
    """The status is gRPC's; the next message is served."""
    with pytest.raises(grpc.RpcError) as caught:
        wire.stub.ModelInfer(zeros(), compression=kind, timeout=CALL_S)

    assert grpc.StatusCode.RESOURCE_EXHAUSTED == caught.value.code()
    assert refusal(0) in caught.value.details()
    assert [4.0] == values(
        wire.stub.ModelInfer(infer_request("double", 2), timeout=CALL_S)
    )


def test_a_stream_continues_after_a_message_beyond_the_limit(wire: Connection) -> None:
    """The message gets its error in order."""
    requests = iter([infer_request("double", 1), zeros(), infer_request("double", 2)])

    first, second, third = wire.stub.ModelStreamInfer(
        requests, compression=grpc.Compression.Gzip, timeout=CALL_S
    )

    assert [2.0] == values(first.infer_response)
    assert refusal(0) in second.error_message
    assert [4.0] == values(third.infer_response)


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_decompressed_bytes_and_fields_are_limited(compress, flood) -> None:
    """Both count towards the limit."""
    inflated = flood()
    if not isinstance(inflated, bytes):
        inflated = inflated.SerializeToString()
    data = compress(inflated)
    del inflated

    tracemalloc.start()
    try:
        with pytest.raises(ReadLimitError, match=refusal(len(data))):
            decompressed(data, DESCRIPTOR)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak <= max(MIN_BYTES, RATIO * len(data)) + (1 << 20)


@pytest.mark.parametrize(
    ("message", "descriptor"),
    [
        (EMPTY_INPUT * 3_000, DESCRIPTOR),
        (EMPTY_RAW * 12_000, DESCRIPTOR),
        (RAW.SerializeToString(), DESCRIPTOR),
        (b"\x7a\x00" * 40_000, DESCRIPTOR),
        (b"\x7a\x00" * 40_000, None),
    ],
    ids=["inputs", "raw", "raw contents", "unknown", "no message"],
)
def test_a_message_within_the_limit_is_read(message: bytes, descriptor) -> None:
    """A field costs what its kind does; bytes do not count as numbers."""
    assert message == decompressed(gzip.compress(message), descriptor)


@pytest.mark.parametrize(
    ("field", "count"),
    [(EMPTY_INPUT, 4_200), (EMPTY_RAW, 17_000), (b"\x7a\x00", 66_000)],
    ids=["inputs", "raw", "unknown"],
)
def test_a_message_just_beyond_the_limit_is_refused(field: bytes, count: int) -> None:
    """A nested message costs more than an empty text, and that more than a number."""
    with pytest.raises(ReadLimitError):
        decompressed(gzip.compress(field * count), DESCRIPTOR)


def test_a_number_has_at_most_ten_bytes() -> None:
    """A longer one ends the message, as it does for the parser."""
    ten, eleven = (memoryview(b"\x80" * many + b"\x01\x00") for many in (9, 10))

    assert (1 << 63, 10) == _varint(ten, 0)
    assert (0, 12) == _varint(eleven, 0)


@pytest.mark.parametrize(
    "data", [b"", b"x", b"\x78\x01", b"\x78\x9c\x01\x02", b"\x0a\x01m"], ids=repr
)
def test_a_plain_message_is_unchanged(data: bytes) -> None:
    """It may begin like a compressed one."""
    assert data == decompressed(data, DESCRIPTOR)


def test_a_damaged_message_is_an_error() -> None:
    """The gate then treats it as malformed."""
    with pytest.raises(ValueError, match="damaged"):
        decompressed(gzip.compress(b"\x0a\x01m")[:-4], DESCRIPTOR)
