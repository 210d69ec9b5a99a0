"""What a run says of devices: in its spans, its file, its document."""

import json
from dataclasses import replace

import numpy as np
import pytest
import stage
from asserting import some
from cells import CONFIG
from cells import DOUBLE as HOST_DOUBLE
from engine.device_cells import DOUBLE, ON_GPU, asking
from views.encoded import decode, encode

from blsnb.inference_server import Server
from blsnb.results.loaded_run import load_run
from blsnb.runtimes import simulated
from blsnb.trace.facts import Copy
from blsnb.trace.files.perfetto import perfetto_json

X = np.arange(4, dtype=np.float32)
TO_CPU = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)"


@pytest.fixture
def run():
    """A run of a model that calls another one, which responds on a device."""
    stage.values["xp"] = simulated
    with Server(runtime="simulated") as server:
        server.define("double", DOUBLE, config=ON_GPU)
        server.define("m", asking("double", TO_CPU), config=ON_GPU)
        yield server.infer("m", {"X": simulated.asarray(X)})


def test_the_columns_have_the_sums(run):
    """Rows without copies have 0."""
    first, second = run.trace.spans
    (copy,) = second.copies
    both = replace(second, copies=(copy, Copy(5, 3000, "Y", 8, "gpu:0", "cpu")))
    header, buffer = encode(replace(run.trace, spans=(first, both)))
    columns = decode(header, buffer)

    assert [0.0, 24.0] == columns["copy_bytes"].tolist()
    assert pytest.approx(copy.duration_ns / 1000 + 3) == columns["copy_us"][1]
    assert 0 == columns["copy_us"][0]


def test_the_header_has_each_copy_and_what_was_used(run):
    """Rows have times since the start of the run."""
    header, _ = encode(run.trace)
    (copy,) = run.trace.spans[1].copies
    use = run.trace.spans[1].device_use

    at = (copy.ns - run.trace.start_ns) / 1000
    took = copy.duration_ns / 1000
    assert {"1": [[at, took, "Y", 16, "gpu:0", "cpu", False]]} == header["copies"]
    said = ["gpu:0", use.compute_ns / 1000, use.in_use_bytes, use.peak_bytes]
    assert said == header["device_use"]["1"]


def test_a_run_on_the_host_shows_no_devices(server):
    """Its document is as large as before."""
    server.define("m", HOST_DOUBLE, config=CONFIG)
    header, _ = encode(server.infer("m", {"X": X}).trace)

    assert not {"copies", "device_use"} & {*header}
    assert "copy_bytes" not in header["columns"]


def places(span):
    """Return the devices of a call's tensors."""
    return [ref.device for ref in (*span.inputs, *span.outputs)]


def test_a_saved_run_keeps_them(run, tmp_path):
    """The file has copies, device times, and the device of each tensor."""
    read = load_run(run.save(tmp_path / "a.blsrun"))

    for before, after in some(zip(run.trace.spans, read.trace.spans, strict=True)):
        assert before.copies == after.copies
        assert before.device_use == after.device_use
        devices = [
            [ref.device for ref in s.inputs + s.outputs] for s in (before, after)
        ]
        assert devices[0] == devices[1]
    assert X.tolist() == read.trace.spans[0].inputs[0].view().tolist()


def test_a_saved_run_is_replayed_on_the_host(run, server, tmp_path):
    """The file has the values of all devices."""
    read = load_run(run.save(tmp_path / "a.blsrun"))
    server.define("m", HOST_DOUBLE, config=CONFIG)
    again = read.replay(0, server=server).this

    assert (X * 2).tolist() == again["Y"].tolist()
    assert ["cpu"] * 2 == places(again.trace.spans[0])


def test_perfetto_shows_copies(run):
    """Each has its size and belongs to its call."""
    events = json.loads("".join(perfetto_json([run.trace])))["traceEvents"]
    (call,) = [e for e in events if e["name"] == "double" and e["ph"] == "X"]

    (copy,) = call["args"]["copies"]
    assert copy.startswith("Y: gpu:0 to cpu, 16 bytes in ")
    assert 0 < call["args"]["device_compute_us"]
