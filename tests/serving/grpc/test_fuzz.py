"""Random gRPC messages: every call gets a status."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from attacks import Figures
from cells import CONFIG, DOUBLE, cell
from google.protobuf.message import Message
from tritonclient.grpc import service_pb2 as pb

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of

from .over_grpc import CALL_S, DECOUPLED, Connection, connected, infer_request, values

SHORT_S, LONG_S = 3.0, 30.0
SERVICE = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"]
PATH = "/inference.GRPCInferenceService/"
STREAM = "ModelStreamInfer"
KEPT = ("RepositoryModelUnload", "RepositoryModelLoad")
"""Calls that could take the models away: they name others."""
EACH = """
sender = request.get_response_sender()
for value in x_of(request)[:5]:
    sender.send(reply(value[None]))
sender.send(flags=1)
"""
BATCHED = """
max_batch_size: 4
dynamic_batching { max_queue_delay_microseconds: 1000 }
"""
TEXTS = CONFIG.replace("FP32", "STRING")
SAME = cell("return [reply(x_of(request))]")
MODELS = ("double", "each", "batched", "texts", "sums", "nope", "")
NAMES = ("X", "Y", "Z", "", "sequence_id", "sequence_start", "priority", "timeout")
MORE_NAMES = (
    "triton_x",
    "triton_enable_empty_final_response",
    "classification",
    "shared_memory_region",
    "shared_memory_offset",
    "shared_memory_byte_size",
    "config",
    "file:1/model.py",
    "unload_dependents",
    "trace_level",
    "trace_rate",
    "log_verbose_level",
    "log_format",
)
DATATYPES = ("FP32", "BYTES", "BOOL", "INT8", "BF16", "FLOAT", "")
NUMBERS = (0, 1, 2, 3, -1, 7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
STRINGS = (*MODELS, *NAMES, *MORE_NAMES, *DATATYPES, "1", "abc", "-1", "é" * 200)


@pytest.fixture
def wire(server: Server) -> Iterator[Connection]:
    """A connection to a server with models of several kinds."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("each", cell(EACH), config=DECOUPLED)
    batched = cell("return [reply(x_of(each)) for each in requests]")
    server.define("batched", batched, config=CONFIG + BATCHED)
    server.define("texts", SAME, config=TEXTS)
    server.define("sums", SAME, config=f"{CONFIG}\nsequence_batching {{ }}\n")
    parts_of(server).recorder.keep_runs = 5
    with connected(server) as connection:
        yield connection


def filled(message: Message, dice: random.Random, depth: int = 4) -> Message:
    """Fill a message with random values, some of them valid."""
    for field in message.DESCRIPTOR.fields:
        if dice.random() < 0.5 or not depth:
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            _fill_map(getattr(message, field.name), field, dice, depth)
        elif field.is_repeated:
            _fill_list(getattr(message, field.name), field, dice, depth)
        elif field.message_type:
            filled(getattr(message, field.name), dice, depth - 1)
            getattr(message, field.name).SetInParent()
        else:
            _set(message, field, dice)
    return message


def _fill_map(found: Any, field: Any, dice: random.Random, depth: int) -> None:
    for _ in range(dice.randint(1, 3)):
        key = dice.choice((*NAMES, *MORE_NAMES))
        filled(found[key], dice, depth - 1)


def _fill_list(found: Any, field: Any, dice: random.Random, depth: int) -> None:
    for _ in range(dice.randint(1, 3)):
        if field.message_type:
            filled(found.add(), dice, depth - 1)
        else:
            found.append(_value(field, dice))


def _set(message: Message, field: Any, dice: random.Random) -> None:
    setattr(message, field.name, _value(field, dice))


def _value(field: Any, dice: random.Random) -> Any:
    kinds = type(field)
    match field.cpp_type:
        case kinds.CPPTYPE_STRING if field.type == kinds.TYPE_BYTES:
            return dice.randbytes(dice.choice((0, 1, 4, 8, 64)))
        case kinds.CPPTYPE_STRING:
            return dice.choice(STRINGS)
        case kinds.CPPTYPE_BOOL:
            return dice.random() < 0.5
        case kinds.CPPTYPE_FLOAT | kinds.CPPTYPE_DOUBLE:
            return dice.choice((0.0, 1.5, -1e300 if field.type == 1 else -1e30))
        case kinds.CPPTYPE_INT32:
            return dice.choice([n for n in NUMBERS if abs(n) < 2**31])
        case kinds.CPPTYPE_UINT32:
            return abs(dice.choice(NUMBERS)) % 2**32
        case kinds.CPPTYPE_UINT64:
            return abs(dice.choice(NUMBERS))
        case _:
            return dice.choice(NUMBERS)


def nearly_right(dice: random.Random) -> Message:
    """Return an inference request with one random change."""
    request = infer_request(dice.choice(MODELS[:5]), *range(dice.randint(0, 4)), id="q")
    changes = pb.ModelInferRequest()
    filled(changes, dice, 3)
    for field in dice.sample(list(changes.DESCRIPTOR.fields), 2):
        if field.name in ("parameters", "outputs", "id", "model_version"):
            part = pb.ModelInferRequest()
            part.MergeFrom(changes)
            for other in part.DESCRIPTOR.fields:
                if other.name != field.name:
                    part.ClearField(other.name)
            request.MergeFrom(part)
    if request.inputs and dice.random() < 0.4:
        filled(request.inputs[0], dice, 3)
    return request


def message_for(method: str, dice: random.Random) -> bytes:
    """Return a message for a method, or something similar."""
    kind = getattr(pb, SERVICE.methods_by_name[method].input_type.name)
    if kind is pb.ModelInferRequest and dice.random() < 0.7:
        message = nearly_right(dice)
    else:
        message = filled(kind(), dice)
    if method in KEPT and message.model_name in MODELS:
        message.model_name = "nope"
    sent = bytearray(message.SerializePartialToString())
    while sent and dice.random() < 0.2:
        place = dice.randrange(len(sent))
        sent[place : place + dice.randint(0, 3)] = dice.randbytes(dice.randint(0, 3))
    return bytes(sent)


def bombard(wire: Connection, seconds: float) -> dict[str, int]:
    """Send messages for a time; count the statuses returned."""
    dice = random.Random(20240901)
    until = time.monotonic() + seconds
    seen: dict[str, int] = {}
    with grpc.insecure_channel(wire.address) as channel:
        while time.monotonic() < until:
            method = dice.choice([*SERVICE.methods_by_name, *["ModelInfer"] * 10])
            if method == STREAM:
                count = dice.randint(0, 5)
                sent = [message_for(method, dice) for _ in range(count)]
                read = dice.choice((list, list, _leave))
                code = _code(channel.stream_stream(PATH + method), iter(sent), read)
            else:
                sent = message_for(method, dice)
                code = _code(channel.unary_unary(PATH + method), sent, bytes)
            seen[code] = seen.get(code, 0) + 1
    return seen


def _leave(replies: Any) -> None:
    """Read one response, and disconnect."""
    next(replies, None)
    replies.cancel()


def _code(ask: Any, sent: Any, read: Any) -> str:
    try:
        read(ask(sent, timeout=CALL_S))
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def check(wire: Connection, server: Server, seconds: float) -> int:
    """Check that all calls get a status, none by a fault of blsnb; count them."""
    seen = bombard(wire, seconds)

    assert seen["OK"]
    assert seen["INVALID_ARGUMENT"]
    assert set() == set(seen) & {"DEADLINE_EXCEEDED", "UNKNOWN", "CANCELLED"}
    reply = wire.stub.ModelInfer(infer_request("double", 1), timeout=CALL_S)
    assert [2.0] == values(reply)
    return sum(seen.values())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_call_gets_a_status(
    wire: Connection, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """No fault of the end point is logged."""
    check(wire, server, SHORT_S)

    assert [] == [record for record in caplog.records if "blsnb" in record.name]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_call_gets_a_status_for_long(
    wire: Connection,
    server: Server,
    caplog: pytest.LogCaptureFixture,
    figures: Figures,
) -> None:
    """The test lasts half a minute."""
    figures(random_messages=check(wire, server, LONG_S))

    assert [] == [record for record in caplog.records if "blsnb" in record.name]
