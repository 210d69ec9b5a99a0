"""Run files of version 1: what earlier releases saved is read as they read it."""

from __future__ import annotations

import json
import random
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_files import facts

from blsnb.errors import TraceFileError
from blsnb.request_fields import RequestFields
from blsnb.results.loaded_run import load_run
from blsnb.runtimes.runtime import DeviceUse
from blsnb.trace.files.run_file import read_run
from blsnb.views.documents.wire import encode
from blsnb.views.tree import tree

FILES = Path(__file__).with_name("data") / "v1"
"""Saved by release 0.1.0; of ``invoice`` 3,000 bytes of values."""
_FUZZ_S = 3


# Files of the earlier release ------------------------------------------------


def test_a_plain_run_is_read_completely():
    """Fields, parameters, a printed line and all values are equal."""
    run = load_run(FILES / "plain.blsrun")
    outer, double = run.trace.spans

    assert ("outer", "r-1", [2, 4]) == (
        run.model_name,
        run.trace.request_id,
        run["Y"].tolist(),
    )
    client = RequestFields(1, "seven", 3, 70, 0, (("who", "client"),), "r-1")
    parameters = (("k", 1), ("s", "text"), ("b", True))
    assert client == outer.request_fields
    assert RequestFields(timeout_us=5, parameters=parameters) == double.request_fields
    assert ["a line\n"] == [line.text for line in outer.logs]
    assert (0, 1) == (double.parent, double.id)
    assert outer.inputs[0].data is double.inputs[0].data
    assert 0 < outer.request_start_ns < double.request_start_ns < double.request_end_ns


def test_a_failed_run_is_read_with_its_error():
    """It has failed and successful calls."""
    run = load_run(FILES / "failed.blsrun")

    assert "ValueError: boom" in (run.error or "")
    assert ["caller", "double", "bad"] == [
        run.trace.models[span.model].name for span in run.trace.spans
    ]
    assert [True, False, True] == [bool(span.error) for span in run.trace.spans]


def test_a_stream_is_read_with_its_responses():
    """Sent and received responses are read."""
    run = load_run(FILES / "stream.blsrun")
    [span] = run.trace.spans

    sent = [[0, 0], [1, 2], [2, 4]]
    assert sent == [each.outputs[0].view().tolist() for each in span.responses[:3]]
    assert sent == [each["Y"].tolist() for each in run.responses[:3]]
    assert "the last one" == span.responses[3].error
    assert [0, 1, 2, 3, 4] == [each.number for each in span.responses]
    assert 5 == span.response_count


def test_a_folded_run_is_read_with_its_counts_and_gaps():
    """Ids are positions."""
    trace = load_run(FILES / "folded.blsrun").trace
    [counted] = trace.folded

    assert (61, 20) == (trace.call_count, counted.calls)
    assert "inner" == counted.model.name
    assert 20 == sum(gap.calls for gap in trace.gaps)
    assert list(range(41)) == [span.id for span in trace.spans]


def test_a_run_on_a_device_is_read_with_its_copies():
    """The device use of its execution is read, too."""
    first, second = load_run(FILES / "device.blsrun").trace.spans
    [copy] = second.copies

    assert ("Y", 16, "gpu:0", "cpu") == copy[2:6]
    assert isinstance(first.device_use, DeviceUse)
    assert "gpu:0" == first.device_use.device
    assert [0, 2, 4, 6] == second.outputs[0].view().tolist()


def test_a_run_without_some_values_is_read_with_its_remark():
    """Existing values are read, and the remark names the others."""
    run = load_run(FILES / "left_out.blsrun")

    assert [2, 4] == run["Y"].tolist()
    assert run.trace.spans[0].inputs[0].evicted
    [remark] = run.trace.remarks
    assert "did not fit in the 8 bytes" in remark


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.stem)
def test_a_run_of_version_1_is_saved_as_version_2(path, tmp_path):
    """Calls, ids, values, remarks and responses are equal."""
    before = load_run(path)
    after = load_run(before.save(tmp_path / path.name))

    assert facts(before.trace) == facts(after.trace)
    assert list(map(repr, before.responses)) == list(map(repr, after.responses))
    assert before.error == after.error


# Files of others -------------------------------------------------------------


@pytest.fixture
def refused(tmp_path):
    """Read bytes as a file that is refused; return the reason."""

    def refused(data: bytes, said: str = "is not a saved run: ") -> str:
        path = tmp_path / "bad.blsrun"
        path.write_bytes(data)
        with pytest.raises(TraceFileError) as error:
            read_run(path)
        begin = f"{path} {said}"
        assert str(error.value).startswith(begin)
        return str(error.value).removeprefix(begin)

    return refused


def packed(
    folder: Path, text: str | bytes, values: bytes = b"", **members: Any
) -> bytes:
    path = folder / "made.zip"
    with zipfile.ZipFile(path, "w", members.pop("compression", 0)) as file:
        file.writestr("run.json", text)
        file.writestr("values.bin", values)
        for name, content in members.items():
            file.writestr(name, content)
    return path.read_bytes()


def saved() -> tuple[dict[str, Any], bytes]:
    """Return JSON and values of a valid file."""
    with zipfile.ZipFile(FILES / "invoice.blsrun") as file:
        return json.loads(file.read("run.json")), file.read("values.bin")


def test_a_file_that_is_not_a_zip_file_is_refused(refused):
    """The error says what it may be, and what reads it."""
    assert "it is empty" == refused(b"")
    assert "File is not a zip file" == refused(b"any text")
    for trace in (b'[{"id":1}]', b'\n {"id":1}'):
        assert refused(trace).endswith(
            "; blsnb.load_trace() reads trace files of a Triton server"
        )
    assert "an HTML page of run.save() is for viewing" in refused(b"<!doctype html>")


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_partial_file_is_recognised(share, refused, tmp_path):
    """A download or a disk may have ended early."""
    whole = (FILES / "invoice.blsrun").read_bytes()
    said = refused(
        whole[: int(share * len(whole))], "is damaged, or only a part of a run: "
    )

    assert "File is not a zip file" == said


def test_a_changed_byte_of_a_value_is_found(refused, tmp_path):
    """The checksum differs."""
    _, values = saved()
    whole = (FILES / "invoice.blsrun").read_bytes()
    at = whole.index(values[:64]) + 30
    changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]

    assert "Bad CRC-32 for file 'values.bin'" == refused(
        changed, "is damaged, or only a part of a run: "
    )


def test_a_zip_file_of_something_else_is_refused(refused, tmp_path):
    """The error names the expected members."""
    path = tmp_path / "arrays.npz"
    np.savez(path, a=1)
    assert "should hold run.json and values.bin, not ['a.npy']" in refused(
        path.read_bytes()
    )
    assert "should hold run.json and values.bin" in refused(
        packed(tmp_path, '{"format":1}', evil=b"")
    )


def test_compressed_values_are_refused(refused, tmp_path):
    """A small file must not need any amount of memory."""
    bomb = packed(tmp_path, '{"format":1}', bytes(1 << 20), compression=8)

    assert "values.bin is compressed" in refused(bomb)


@pytest.mark.parametrize("members", [{}, {"more.bin": b""}])
def test_a_later_format_is_refused_by_its_number(members, refused, tmp_path):
    """The error says that a newer blsnb is needed."""
    text = json.dumps({"format": 3, "written_by": "blsnb 9.1"})
    said = refused(packed(tmp_path, text, **members), "was saved by ")

    assert (
        "blsnb 9.1 in format 3; this blsnb reads format 2 and older: a newer blsnb is "
        "needed" == said
    )


@pytest.mark.parametrize("version", [0, 2, "2", 2.5, None, True])
def test_an_unknown_format_is_refused(version, refused, tmp_path):
    """Another program wrote the file."""
    said = refused(packed(tmp_path, json.dumps({"format": version})))

    assert f"its format is {version!r}, and a zip file has format 1" == said


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "[" * 10_000, '{"format":1}', "\xff", '"\\ud800']
)
def test_json_that_is_no_run_is_refused(text, refused, tmp_path):
    """It may be nested deeply, cut off, or empty."""
    refused(packed(tmp_path, text.encode("latin-1")))


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("parent", 3, 3),
        ("parent", 0, -2),
        ("model", 1, 9),
        ("model", 1, True),
        ("request_start_ns", 5, -1),
        ("request_end_ns", 5, 1 << 63),
        ("request_end_ns", 5, 1.5),
        ("flags", 2, 1 << 16),
        ("inputs", 0, [999]),
        ("inputs", 0, [-1]),
        ("error", 0, None),
        ("logs", 0, [[1, 2, 3]]),
        ("responses", 0, [[1]]),
        ("request_fields", 0, [1, 2]),
    ],
)
def test_an_invalid_call_is_refused(column, row, value, refused, tmp_path):
    """Callers precede their calls, and fields have valid types and ranges."""
    known, values = saved()
    known["calls"][column][row] = value

    refused(packed(tmp_path, json.dumps(known), values))


@pytest.mark.parametrize(
    "gap", [[27, 0, 0, 1], [-2, 0, 0, 1], [0, 9, 0, 1], [0, 0, 0, 0], [0]]
)
def test_invalid_gaps_are_refused(gap, refused, tmp_path):
    """A gap needs a caller, a model and a positive count."""
    known, values = saved()

    refused(packed(tmp_path, json.dumps(known | {"gaps": [gap]}), values))


def test_a_file_of_an_older_release_has_no_gaps(tmp_path):
    """It is read as before."""
    known, values = saved()
    del known["gaps"]
    path = tmp_path / "older.blsrun"
    path.write_bytes(packed(tmp_path, json.dumps(known), values))

    assert () == read_run(path).trace.gaps


def test_models_of_counted_calls_only_are_models_of_the_run(tmp_path):
    """The page numbers them."""
    known, values = saved()
    count = len(known["models"])
    unused = [*known["models"], ["other", "python", "cpu", "model", "", 1, None, 0]]
    folded = [[0, count, 7, 0, 9, 1, 2, []]]
    path = tmp_path / "counted.blsrun"
    text = json.dumps({**known, "models": unused, "folded": folded})
    path.write_bytes(packed(tmp_path, text, values))
    trace = read_run(path).trace

    assert count + 1 == len(trace.models)
    assert encode(trace)


def test_values_that_do_not_fit_their_tensors_are_refused(refused, tmp_path):
    """Shape, type and size must agree, and values must fill their file."""
    known, values = saved()
    assert "bytes of values" in refused(packed(tmp_path, json.dumps(known), values[1:]))
    for change in ([1, 1], [1 << 40] * 40, [-1]):
        described = json.loads(json.dumps(known["tensors"]))
        next(row for row in described if row[5] >= 0 and row[1] != "BYTES")[2] = change
        text = json.dumps({**known, "tensors": described})
        refused(packed(tmp_path, text, values))


def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path):
    """Bytes and values are changed anywhere; a run that is read can be shown."""
    rng = random.Random(2)
    path = tmp_path / "run.blsrun"
    whole = (FILES / "invoice.blsrun").read_bytes()
    known, values = saved()
    known["calls"] = {n: column[:6] for n, column in known["calls"].items()}
    until = time.monotonic() + _FUZZ_S
    read = refused = 0
    while time.monotonic() < until:
        if rng.random() < 0.5:
            data = _scratched(whole, rng)
        else:
            text = json.dumps(_changed(json.loads(json.dumps(known)), rng))
            data = packed(tmp_path, text, values)
        path.write_bytes(data)
        try:
            trace = read_run(path).trace
        except TraceFileError:
            refused += 1
        else:
            read += 1
            tree(trace)
            encode(trace)

    assert read > 5
    assert refused > 5


def _scratched(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed))
        # The directory at the end is where zip files are hurt most.
        if rng.random() < 0.5:
            at = len(changed) - 1 - rng.randrange(200)
        changed[at] = rng.randrange(256)
    return bytes(changed[: rng.randrange(len(data))] if rng.random() < 0.1 else changed)


_ODD = (None, True, -1, 0, 3, 1 << 31, 1 << 62, 1 << 70, 1e300, "", "x", [], {}, [[]])


def _changed(value: Any, rng: random.Random) -> Any:
    """Return a value with one replaced part, at any depth."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    if not keys:
        return rng.choice(_ODD)
    key = rng.choice(list(keys))
    if isinstance(value[key], dict | list) and rng.random() < 0.9:
        value[key] = _changed(value[key], rng)
    elif rng.random() < 0.1:
        del value[key]
    else:
        value[key] = rng.choice(_ODD)
    return value
