"""A real server as the source of a calibration: its traces and its processes."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from blsnb.planning.calibration import HERE, TRITON, CalibratedModel, Calibration
from blsnb.planning.simulation.cores import Cores, SlicedCores
from blsnb.planning.simulation.loads import closed_loop, open_loop
from blsnb.planning.simulation.simulation import NO_FRONTEND, Frontend
from blsnb.planning.triton.agreement import frontend_of
from blsnb.planning.triton.calibrate import observed_model
from blsnb.planning.triton.phases import Computing, Phase, computing
from blsnb.planning.triton.processes import ProcessorTimes, processor_times
from blsnb.planning.triton.real_world import _prepared, copy_traced
from blsnb.planning.triton.served import Executions, executions
from blsnb.trace.triton.trace_file import read_traces

from .configs import MS, computes, config, waits

PARENT, CHILD = 1, 2


def events(number, model, start, execution, end, parent=None, output=None):
    """Return a request of a trace file; times in milliseconds."""
    known = {"id": number, "model_name": model, "model_version": 1}
    if parent is not None:
        known["parent_id"] = parent
    first, last = execution
    stamps = {
        "REQUEST_START": start,
        "QUEUE_START": start,
        "COMPUTE_START": first,
        "COMPUTE_INPUT_END": first,
        "COMPUTE_OUTPUT_START": output or last,
        "COMPUTE_END": last,
        "REQUEST_END": end,
    }
    times = [
        {"id": number, "timestamps": [{"name": name, "ns": round(ms * MS)}]}
        for name, ms in stamps.items()
    ]
    return [known, *times]


def whole(number, start, end):
    """Return a request of an ensemble: it has no execution."""
    known, first, *_, last = events(number, "whole", start, (start, end), end)
    return [known, first, last]


def traced(folder, *requests):
    """Return the executions in a trace file."""
    import json

    file = folder / "trace.json"
    file.write_text(json.dumps([event for each in requests for event in each]))
    return executions(read_traces(file), {})


def test_an_execution_has_the_calls_that_it_made(tmp_path):
    """Own work lies between them; a client's request waits in its queue before."""
    found = traced(
        tmp_path,
        events(PARENT, "chain", 100, (102, 120), 121),
        events(CHILD, "a", 105, (106, 110), 110, parent=PARENT),
    )
    first, last = found["chain"].behaviours[0].steps

    assert ("a", 3 * MS) == (first.model, first.waiting_ns)
    assert ((0,), 10 * MS) == (last.after, last.waiting_ns)
    assert [2 * MS] == found["chain"].waits_ns
    assert [1 * MS] == found["chain"].overheads_ns
    assert [4 * MS] == [each.own_ns for each in found["a"].behaviours]


def test_requests_that_began_together_are_one_execution(tmp_path):
    """A trace has no batch sizes, but the time at which a batch began."""
    found = traced(
        tmp_path,
        events(1, "net", 100, (103, 110), 110),
        events(2, "net", 101, (103, 110), 110),
        events(3, "net", 109, (112, 117), 117),
    )["net"]

    assert [2, 1] == [each.size for each in found.behaviours]
    assert [3 * MS, 3 * MS] == found.waits_ns


def test_a_step_of_an_ensemble_begins_when_the_last_one_has_responded(tmp_path):
    """The request of the last step ends a moment later; that is no own work."""
    found = traced(
        tmp_path,
        whole(1, 100, 121),
        events(2, "a", 100, (101, 110), 112, parent=1, output=109),
        events(3, "b", 110, (111, 119), 121, parent=1, output=118),
    )["whole"]

    assert [(), (0,), (1,)] == [step.after for step in found.behaviours[0].steps]
    assert (4 * MS, 1) == (found.behaviours[0].own_ns, found.behaviours[0].size)


def test_an_observed_model_has_the_overheads_of_its_requests():
    """Each is longer by what an idle instance needs to begin."""
    found = observed_model(
        config("m"), [Executions([waits(5)], [MS, 2 * MS, 6 * MS], [0, MS, 9 * MS])]
    )

    assert [1.5, 2.5, 6.5] == [each / MS for each in found.overheads_ns]
    assert 2.5 == found.overhead_ns / MS


def process(proc, pid, command, ns, children=()):
    """Write the facts on a process as Linux publishes them."""
    task = proc / str(pid) / "task" / str(pid)
    task.mkdir(parents=True)
    (proc / str(pid) / "cmdline").write_text("\0".join(command))
    (task / "schedstat").write_text(f"{ns} 5 1\n")
    (task / "children").write_text(" ".join(map(str, children)))


def test_processor_time_is_that_of_the_processes_of_a_model(tmp_path):
    """Their commands name the model's file; other processes do not count."""
    stub = "/opt/backends/python/triton_python_backend_stub"
    process(tmp_path, 1, ["tritonserver"], 50, children=(2, 4, 5, 6))
    process(tmp_path, 2, [stub, "/models/a/1/model.py", "region"], 20, children=(3,))
    process(tmp_path, 3, [stub, "a/1/model.py"], 10)
    process(tmp_path, 4, ["sh", "/models/a/1/model.py"], 99)
    process(tmp_path, 5, [stub, "1/model.py"], 99)
    process(tmp_path, 6, [stub], 99)

    found = processor_times(1, ["a", "b"], tmp_path)

    assert (50, {"a": 30, "b": 0}) == (found.server_ns, found.models_ns)
    assert 0 == found.others


def test_other_processes_are_what_is_left_of_the_machine():
    """The server, its models and the client had 60 of 90 busy seconds of 200."""
    found = ProcessorTimes(20, {"a": 30}, 10, machine_ns=90, capacity_ns=200)

    assert 0.15 == found.others


def test_processor_times_are_subtracted_and_scaled():
    """The machine is the same on all processors: its time is not scaled."""
    before = ProcessorTimes(1, {"a": 2}, 3, 4, 5)
    spent = ProcessorTimes(11, {"a": 22, "b": 7}, 33, 44, 55).since(before)

    assert ProcessorTimes(10, {"a": 20, "b": 7}, 30, 40, 50) == spent
    assert ProcessorTimes(5, {"a": 10, "b": 4}, 15, 40, 50) == spent.times(0.5)


def test_the_machine_counts_the_processors_that_may_be_used(tmp_path):
    """Idle processors, and those waiting for a disk, are not busy."""
    usable = min(os.sched_getaffinity(0))
    row = f"cpu{usable} 5 0 2 80 10 1 1 1 0 0"
    (tmp_path / "stat").write_text(f"cpu 9 9 9 9 9 9 9 9\n{row}\ncpu999999 50 0 0 0\n")
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    found = processor_times(1, [], tmp_path)

    assert (10 * tick_ns, 100 * tick_ns) == (found.machine_ns, found.capacity_ns)


def phase(spent_ns, server_ns=0, client_ns=0):
    """Return a phase in which model m spent processor time."""
    spent = ProcessorTimes(server_ns, {"m": spent_ns}, client_ns)
    return Phase(1, 1, 1.0, spent, 0, 1, {})


def test_what_is_computed_beside_a_request_does_not_make_it_longer():
    """A server computes for its models, while they wait: only transport takes time."""
    spent = phase(0, client_ns=10 * MS)._replace(requests=2)
    short, long = (frontend_of(spent, 3 * MS, way * MS) for way in (2, 9))

    assert [Frontend(2 * MS, 0, 6 * MS), Frontend(8 * MS, MS)] == [short, long]


def ran(count, size):
    """Return a number of executions with a batch size."""
    found = [waits(1, size) for _ in range(count)]
    return {"m": Executions(found, [], [])}


def test_processor_time_lies_on_a_line_through_batch_sizes():
    """2 ms for each execution and 1 ms for each inference."""
    phases = [(phase(30 * MS), ran(10, 1)), (phase(50 * MS), ran(5, 8))]
    found = computing("m", phases)

    assert [3 * MS, 10 * MS] == pytest.approx([found.of(1), found.of(8)])


def test_batches_that_differ_by_one_request_have_a_line():
    """Those that differ less say nothing of other sizes."""
    line = [(phase(30 * MS), ran(10, 1)), (phase(40 * MS), ran(10, 2))]
    mixed = {"m": Executions([waits(1, 1), *[waits(1, 2)] * 9], [], [])}
    near = [line[0], (phase(39 * MS), mixed)]

    assert 10 * MS == pytest.approx(computing("m", line).of(8))
    assert round(3.45 * MS) == computing("m", near).of(8)


def test_processor_time_of_one_batch_size_is_a_constant():
    """Nothing says what another one needs."""
    assert 3 * MS == computing("m", [(phase(30 * MS), ran(10, 1))]).of(8)


def test_unknown_processor_time_is_none():
    """A server on another machine has processes that cannot be read."""
    unknown = phase(0)._replace(processors=None)

    assert Computing() == computing("m", [(unknown, ran(10, 1))])


def calibration(world=TRITON, frontend=NO_FRONTEND):
    """Return a calibration of a model that waits for 5 ms."""
    model = CalibratedModel(config("m"), {1: [waits(5)]})
    return Calibration("m", world, {"m": model}, 2.0, frontend=frontend)


def test_the_frontend_adds_to_the_latency_and_holds_no_instance():
    """A client's request takes 2 ms longer, and the model is as fast as without it."""
    found = calibration(frontend=Frontend(MS, MS))
    light = open_loop(found.simulation(), "m", [0, 100 * MS, 200 * MS])
    heavy = closed_loop(found.simulation(), "m", 8, 1_000)

    assert [7_000, 7_000] == pytest.approx(light.latencies_us[-2:])
    assert 200 == pytest.approx(heavy.rate, rel=0.01)


def test_the_frontend_needs_a_processor():
    """At most 2,000 requests of a millisecond pass two processors in a second."""
    # A few less do, as a processor without work takes what waits for another at a tick.
    free = CalibratedModel(config("m", 8), {1: [computes(0.001)]})
    found = Calibration("m", TRITON, {"m": free}, 2.0, frontend=Frontend(MS, 0))
    rate = closed_loop(found.simulation(), "m", 8, 1_000).rate

    assert 1_900 < rate < 2_001


def test_what_a_client_computes_after_a_response_needs_a_processor():
    """It makes no request longer, and a thousand of them fill a processor."""
    free = CalibratedModel(config("m", 8), {1: [computes(0.001)]})
    beside = Frontend(0, 0, MS)
    found = Calibration("m", TRITON, {"m": free}, 1.0, frontend=beside)
    light = open_loop(found.simulation(), "m", [0, 100 * MS, 200 * MS])

    assert [1, 1] == pytest.approx(light.latencies_us[-2:])
    assert 1_000 == pytest.approx(
        closed_loop(found.simulation(), "m", 8, 1_000).rate, rel=0.01
    )


def test_worlds_are_not_mixed():
    """The text names both."""
    with pytest.raises(ValueError, match=r"target='here' .* one for target='triton'"):
        calibration(HERE).check(TRITON, "m")


def test_processors_of_a_server_are_had_in_turns():
    """Python code here has them in equal shares, and so has a part of a processor."""
    short = CalibratedModel(config("m"), {1: [computes(1)]})
    found = Calibration("m", TRITON, {"m": short}, 1.0)
    here = replace(found, world=HERE)

    assert [SlicedCores, Cores] == [
        type(each.simulation().cores) for each in (found, here)
    ]
    assert isinstance(found.simulation(cores=1.5).cores, Cores)


def test_a_calibration_says_what_was_measured():
    """How often, and with which times."""
    text = str(calibration(frontend=Frontend(MS, MS)))

    assert "m, observed for a process for each instance on 2 processors" in text
    assert "m      1      1           5 ms      0 µs       0 µs" in text
    assert "Outside of the models a request takes 2 ms." in text


def test_a_traced_copy_keeps_all_files(tmp_path):
    """The model runs beside a file that passes its traces on."""
    version = tmp_path / "models" / "a" / "1"
    version.mkdir(parents=True)
    (version / "model.py").write_text("source")
    (version / "weights").write_bytes(b"w")
    (tmp_path / "copy").mkdir()
    copy_traced(tmp_path / "models", ["a"], tmp_path / "copy")
    copied = tmp_path / "copy" / "a" / "1"

    assert "source" == (copied / "model_with_its_trace.py").read_text()
    assert "import TritonPythonModel as Original" in (copied / "model.py").read_text()
    assert b"w" == (copied / "weights").read_bytes()
    assert "source" == (version / "model.py").read_text()


@pytest.mark.parametrize("traced", [False, True])
def test_a_real_server_has_the_configuration_of_a_plan(tmp_path, traced):
    """In a copy of the models, if they pass their traces on."""
    version = tmp_path / "models" / "a" / "1"
    version.mkdir(parents=True)
    (version / "model.py").write_text("source")
    arguments = {"a": "changed"}, traced, tmp_path / "models", ["a"]
    found = _prepared(tmp_path, *arguments)

    assert tmp_path / ("traced" if traced else "models") == found
    assert "changed" == (found / "a" / "config.pbtxt").read_text()
    assert traced == (found / "a" / "1" / "model_with_its_trace.py").exists()
