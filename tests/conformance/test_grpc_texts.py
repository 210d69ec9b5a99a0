"""Checks and error texts of gRPC's end point."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as pb

from .covering import rows
from .served import CALL_S, put_all, request
from .served_models import line

ONE_TWO = struct.pack("<2f", 1, 2)
TWO = {"shape": (2,), "raw": ONE_TWO}
KINDS = [True, 3, -1, 2.5, "s", ("uint64_param", 7), None]
EMPTY_FINAL = "triton_enable_empty_final_response"


CONTENTS = {
    "fp32": ({"fp32_contents": [1, 2]}, {"raw": None}),
    "and raw": ({"fp32_contents": [1, 2]}, {}),
    "of another type": ({"int_contents": [1, 2]}, {"raw": None}),
    "none at all": ({"fp32_contents": []}, {"raw": None}),
    "two kinds": ({"fp32_contents": [1, 2], "int_contents": [1]}, {"raw": None}),
    "another kind after it": (
        {"fp32_contents": [1, 2], "bytes_contents": [b"a"]},
        {"raw": None},
    ),
    "wider": ({"fp64_contents": [1, 2]}, {"raw": None}),
    "no type": ({"fp32_contents": [1, 2]}, {"raw": None, "datatype": "FLOAT"}),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_explicit_contents(agree, beside, name):
    """They replace raw contents, if the field is that of the datatype."""
    contents, more = CONTENTS[name]

    def case(target):
        with line(beside(target), "same") as wire:
            asked = request("net_same", contents=contents, **{**TWO, **more})
            return wire.call("ModelInfer", asked)

    agree(case)


@pytest.mark.parametrize("length", [2**62, 2**62 + 1, 2**61, 2**63 - 1, -2])
def test_a_byte_size_beyond_64_bits(agree, beside, length):
    """The text has it modulo 2⁶⁴, with a sign."""

    def case(target):
        with line(beside(target), "same") as wire:
            asked = request("net_same", (length,), ONE_TWO)
            return wire.call("ModelInfer", asked)

    agree(case)


@pytest.mark.parametrize("rows", [-1, -2, 2**31, 2**63 - 1, -(2**31)])
def test_a_batch_whose_count_exceeds_31_bits(agree, beside, rows):
    """The instance refuses it, if its shape has no elements."""

    def case(target):
        with line(beside(target), "batched") as wire:
            sent = request("net_batched", (rows, 0))
            other = request("net_batched", (rows, 0, 0))
            return [wire.call("ModelInfer", each) for each in (sent, other)]

    agree(case)


@pytest.mark.parametrize("rows", [2**32 + 1, 1 - 2**32])
def test_a_batch_that_counts_as_one(agree, beside, rows):
    """Triton counts modulo 2³²."""

    def case(target):
        with line(beside(target), "batched") as wire:
            return wire.call("ModelInfer", request("net_batched", (rows, 0)))

    def refused(known, seen):
        assert [["1", "0"]] == [each["shape"] for each in known["outputs"]]
        assert "inference request batch-size must be <= 4" in seen[1]

    reason = "the request is refused as too large"
    agree(case, deviates=reason, ours=refused)


OF_TYPES = {
    "bool": ("bool_contents", [True, False]),
    "int8": ("int_contents", [-1, 300]),
    "int16": ("int_contents", [-1, 70000]),
    "int32": ("int_contents", [-1, 5]),
    "int64": ("int64_contents", [-1, 5]),
    "uint8": ("uint_contents", [1, 300]),
    "uint16": ("uint_contents", [1, 70000]),
    "uint32": ("uint_contents", [1, 5]),
    "uint64": ("uint64_contents", [1, 5]),
    "fp64": ("fp64_contents", [1.5, 5]),
    "string": ("bytes_contents", [b"ab", b""]),
}


def test_explicit_contents_of_every_type(agree, beside):
    """The lowest bytes are kept of a number that is too large."""

    def case(target):
        found = []
        with line(beside(target), *(f"same_{name}" for name in OF_TYPES)) as wire:
            for name, (kind, elements) in OF_TYPES.items():
                datatype = "BYTES" if name == "string" else name.upper()
                asked = request(
                    f"net_same_{name}", (2,), None, datatype, contents={kind: elements}
                )
                found.append(wire.call("ModelInfer", asked))
        return found

    agree(case)


def test_raw_contents_must_be_there(agree, beside):
    """One for each input, with the size of its shape; more are ignored."""

    def case(target):
        more = request("net_same", **TWO)
        more.raw_input_contents.append(b"more")
        twice = request("net_same", **TWO, id="t")
        twice.inputs.append(twice.inputs[0])
        other = request("net_same", **TWO, id="a\0b")
        other.inputs.append(other.inputs[0])
        asked = [
            other,
            request("net_same", (2,), None),
            request("net_same", (2,), b"half"),
            request("net_same", (-1,), ONE_TWO),
            more,
            twice,
        ]
        with line(beside(target), "same") as wire:
            return [wire.call("ModelInfer", each) for each in asked]

    agree(case)


CLASSES = [{"classification": 1}, {"classification": 2}]
NO_CLASS = {"classification": 2**32}


@pytest.mark.parametrize(
    "forms",
    [
        [{}, CLASSES[0]],
        [CLASSES[0], {}],
        CLASSES,
        CLASSES[::-1],
        [NO_CLASS],
        [NO_CLASS, CLASSES[0]],
    ],
    ids=str,
)
def test_an_output_that_is_listed_twice(agree, beside, forms):
    """It is sent once, in the first form that is not the plain one."""

    def case(target):
        asked = request("net_same", **TWO)
        for form in forms:
            put_all(asked.outputs.add(name="Y").parameters, form)
        with line(beside(target), "same") as wire:
            return wire.call("ModelInfer", asked)

    agree(case)


@pytest.mark.parametrize("form", [{}, CLASSES[0]], ids=["elements", "classes"])
def test_outputs_of_one_name(agree, beside, form):
    """The first one has the dimensions of all, and the type of the last."""

    def case(target):
        asked = request("net_repeated", **TWO)
        put_all(asked.outputs.add(name="Y").parameters, form)
        with line(beside(target), "repeated") as wire:
            return wire.call("ModelInfer", asked)

    agree(case)


@pytest.mark.parametrize(
    "name",
    [
        "sequence_id",
        "sequence_start",
        "sequence_end",
        "priority",
        "timeout",
        "custom",
        "triton_x",
        EMPTY_FINAL,
        "headers",
        "binary_data_output",
    ],
)
def test_parameters_have_types(agree, beside, name):
    """Those that are fields of the request; the model receives the others."""

    def case(target):
        with line(beside(target), "told") as wire:
            asked = [request("net_told", **TWO, parameters={name: v}) for v in KINDS]
            return [wire.call("ModelInfer", each) for each in asked]

    agree(case)


def test_a_correlation_id_has_an_end(agree, beside):
    """At most 128 characters."""

    def case(target):
        with line(beside(target), "told") as wire:
            ids = ["x" * 128, "x" * 129]
            asked = [
                request("net_told", **TWO, parameters={"sequence_id": each})
                for each in ids
            ]
            return [wire.call("ModelInfer", each) for each in asked]

    agree(case)


def test_classes_are_counted(agree, beside):
    """The count must be a positive integer, of which 32 bits are kept."""

    def case(target):
        counts = [1, 2, 9, 0, 2**32, 2**32 + 1, *KINDS]
        with line(beside(target), "same") as wire:
            asked = [
                request("net_same", **TWO, outputs={"Y": {"classification": each}})
                for each in counts
            ]
            return [wire.call("ModelInfer", each) for each in asked]

    agree(case)


def test_classes_are_of_numbers(agree, beside):
    """Equal elements are in the order of their index."""

    def case(target):
        values = {
            "bool": ("2?", (True, False)),
            "uint8": ("3B", (1, 255, 1)),
            "int16": ("2h", (1, -3)),
            "uint64": ("2Q", (1, 2**63 + 1)),
            "fp16": ("2e", (1, 2)),
            "fp64": ("4d", (1.5, 2.25, 2.25, float("inf"))),
        }
        found = []
        with line(beside(target), *(f"same_{name}" for name in values)) as wire:
            for name, (form, numbers) in values.items():
                asked = request(
                    f"net_same_{name}",
                    (len(numbers),),
                    struct.pack(f"<{form}", *numbers),
                    name.upper(),
                    {"Y": {"classification": 4}},
                )
                found.append(wire.call("ModelInfer", asked))
        return found

    agree(case)


STREAMED = {
    "an id": [request("net_same", **TWO, id="a")],
    "a flag for one answer": [request("net_same", **TWO, parameters={EMPTY_FINAL: 1})],
    "unknown": [request("nope", id="u"), request("net_same", **TWO, id="after")],
    "no version": [request("net_same", **TWO, model_version="x", id="v")],
    "half a tensor": [request("net_same", (2,), b"half", id="h")],
    "a bad parameter": [request("net_same", **TWO, parameters={"timeout": "x"})],
    "a reserved one": [request("net_same", **TWO, parameters={"triton_x": True})],
    "nothing": [],
    "decoupled": [request("net_each", **TWO, id="d")],
    "decoupled, told": [
        request("net_each", **TWO, id="d", parameters={EMPTY_FINAL: True})
    ],
    "an error among answers": [
        request("net_each", (3,), struct.pack("<3f", 1, -2, 3), id="e")
    ],
    "classes": [request("net_same", **TWO, outputs={"Y": {"classification": 1}})],
    "no sequence": [request("net_sum", **TWO, id="s")],
    "an id with a NUL": [
        request("net_sum", **TWO, id="s\0t"),
        request("net_same", (3,), ONE_TWO, id="\0"),
        request("net_same", **TWO, id="s\0t"),
    ],
    "no start": [request("net_sum", **TWO, id="s", parameters={"sequence_id": 5})],
}


@pytest.mark.parametrize("name", STREAMED)
def test_messages_of_a_stream(agree, beside, name):
    """Fields that are set, and fields that are not."""

    def case(target):
        with line(beside(target), "same", "each", "sum") as wire:
            return wire.stream(*STREAMED[name])

    agree(case)


def test_what_is_no_request(agree, beside):
    """Malformed messages, unknown methods; and gRPC's health check."""

    def case(target):
        service = "/inference.GRPCInferenceService/"
        with line(beside(target), "same") as wire:

            def call(path: str, sent: bytes) -> Any:
                ask = wire.channel.unary_unary(path)
                return wire.said(lambda: ask(sent, timeout=CALL_S).hex())

            def stream(*sent: bytes) -> Any:
                ask = wire.channel.stream_stream(f"{service}ModelStreamInfer")
                replies = ask(iter(sent), timeout=CALL_S)
                return wire.said(lambda: [each.hex() for each in replies])

            return [
                *(call(f"{service}ModelInfer", junk) for junk in JUNK),
                *(stream(junk, b"") for junk in JUNK),
                call(f"{service}Unknown", b""),
                # Whether it is well depends on what else was loaded before.
                call("/grpc.health.v1.Health/Check", b"")[:2],
            ]

    agree(case)


JUNK = (b"\xff\xff", b"\x0a\xff", b"\x0a\x05ab", b"\x0a\x02\xff\xfe")
LOADS = {
    "unknown": ("nope", {}),
    "an unknown parameter": ("net_same", {"other": "x"}),
    "a configuration that is a number": ("net_same", {"config": 3}),
    "a configuration that is bytes": ("net_same", {"config": b"{}"}),
    "a file that is a text": ("net_same", {"file:1/model.py": "x"}),
    "a file alone": ("net_same", {"file:1/model.py": b"x"}),
    "no configuration": ("net_same", {"config": "bogus"}),
    "no name": ("", {}),
}


@rows({"an unknown parameter": "r1.4/any-other-key"})
@pytest.mark.parametrize("name", LOADS)
def test_a_load_has_parameters(agree, beside, name):
    """A configuration and files; no others."""
    model, parameters = LOADS[name]

    def case(target):
        asked = pb.RepositoryModelLoadRequest(model_name=model)
        put_all(asked.parameters, parameters)
        with line(beside(target), "same") as wire:
            return wire.call("RepositoryModelLoad", asked)

    agree(case)


ABOUT = {
    "RepositoryModelLoad": pb.RepositoryModelLoadRequest(model_name="net_same\0x"),
    "ModelReady": pb.ModelReadyRequest(name="net_same\0x"),
    "ModelMetadata": pb.ModelMetadataRequest(name="net_same\0x"),
    "ModelConfig": pb.ModelConfigRequest(name="net_same\0x"),
    "TraceSetting": pb.TraceSettingRequest(model_name="net_same\0x"),
    "RepositoryModelUnload": pb.RepositoryModelUnloadRequest(model_name="nope\0x"),
}


@pytest.mark.parametrize("method", ABOUT)
def test_the_name_of_a_model_ends_at_a_nul(agree, beside, method):
    """What follows is ignored."""

    def case(target):
        with line(beside(target), "same") as wire:
            return wire.call(method, ABOUT[method])

    agree(case)


@pytest.mark.parametrize("name", ["config", "config\0x"], ids=["value", "name"])
def test_a_configuration_in_a_load_ends_at_a_nul(agree, beside, name):
    """What follows is no part of the JSON text; the name of the parameter is whole."""

    def case(target):
        with line(beside(target), "same_int16") as wire:
            about = pb.ModelConfigRequest(name="net_same_int16")
            found = wire.stub.ModelConfig(about).config
            text = json_format.MessageToJson(found, preserving_proto_field_name=True)
            asked = pb.RepositoryModelLoadRequest(model_name="net_same_int16")
            put_all(asked.parameters, {name: f"{text}\0x"})
            return wire.call("RepositoryModelLoad", asked)

    agree(case)


def test_an_unload_has_one_parameter(agree, beside):
    """Others are ignored; an unknown model is no error."""

    def case(target):
        found = []
        with line(beside(target), "same_uint32") as wire:
            for parameters in ({"unload_dependents": "x"}, {"other": 1}):
                asked = pb.RepositoryModelUnloadRequest(model_name="nope")
                put_all(asked.parameters, parameters)
                found.append(wire.call("RepositoryModelUnload", asked))
        return found

    agree(case)


def test_repositories_have_no_names(agree, beside):
    """A call with a repository name is refused."""

    def case(target):
        with line(beside(target), "same") as wire:
            return [
                wire.call(method, asked(repository_name="x"))
                for method, asked in (
                    ("RepositoryIndex", pb.RepositoryIndexRequest),
                    ("RepositoryModelLoad", pb.RepositoryModelLoadRequest),
                    ("RepositoryModelUnload", pb.RepositoryModelUnloadRequest),
                )
            ]

    agree(case)


WITH_NUL = {
    "version": (
        "ModelMetadata",
        pb.ModelMetadataRequest(name="net_same", version="x\0y"),
    ),
    "shared memory": (
        "SystemSharedMemoryStatus",
        pb.SystemSharedMemoryStatusRequest(name="nowhere\0else"),
    ),
    "its key": (
        "SystemSharedMemoryRegister",
        pb.SystemSharedMemoryRegisterRequest(name="a", key="/no\0where", byte_size=4),
    ),
}


@pytest.mark.parametrize("name", WITH_NUL)
def test_details_end_at_a_nul(agree, beside, name):
    """They are a C string on Triton."""

    def case(target):
        with line(beside(target), "same") as wire:
            return wire.call(*WITH_NUL[name])

    agree(case)
