"""Specification of hostile placement: what works by luck is found, and again."""

import numpy as np
import pytest
import stage
from cells import CONFIG
from cells import DOUBLE as HOST_DOUBLE
from devices import RUNTIMES, library

from blsnb.engine.instance.placement import HostilePlacement, parse_hostile
from blsnb.errors import InferenceError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.runtimes.runtime import DeviceError

from ..device_cells import ANYWHERE, DOUBLE, ON_CPU, asking, device_cell

X = np.arange(4, dtype=np.float32)
SEEDS = range(12)
LUCKY = f"{CONFIG} {ANYWHERE} instance_group {{ kind: KIND_CPU }}"
CAREFUL = device_cell(
    """
    array = tensor.as_numpy() if tensor.is_cpu() else xp.from_dlpack(tensor).get()
    return [reply(array * 2)]
    """
)


@pytest.fixture(params=RUNTIMES)
def hostile(request):
    """Make servers that are hostile by a seed."""
    made = []
    stage.values["xp"] = library(request.param)

    def server(seed):
        made.append(Server(hostile_placement=seed, runtime=request.param))
        return made[-1]

    yield server
    for each in made:
        each.close()
    stage.clear()


def calls(server, name, count=8):
    """Whether each of some requests fails."""
    failed = []
    for _ in range(count):
        try:
            run = server.infer(name, {"X": X})
        except InferenceError as error:
            failed.append(error)
        else:
            assert (X * 2).tolist() == run["Y"].tolist()
            failed.append(None)
    return failed


LUCKY_DOUBLE = device_cell("return [reply(tensor.as_numpy() * 2)]")


def test_a_model_that_works_by_luck_is_found(hostile):
    """It lets its inputs be anywhere, and takes them for NumPy's."""
    server = hostile(7)
    server.define("m", LUCKY_DOUBLE, config=LUCKY)
    errors = [error for error in calls(server, "m") if error is not None]

    assert 0 < len(errors) < 8
    assert "Tensor is stored in GPU" in errors[0].message


def test_a_careful_model_passes(hostile):
    """It checks on which device its tensors are."""
    server = hostile(7)
    server.define("m", CAREFUL, config=LUCKY)

    assert [None] * 8 == calls(server, "m")


def test_the_note_names_the_tensor_and_the_seed(hostile):
    """And where it was moved, and what to do."""
    server = hostile(7)
    server.define("m", LUCKY_DOUBLE, config=LUCKY)
    error = next(filter(None, calls(server, "m")))
    (note,) = [note for note in error.run.notes if "Hostile" in note]

    moved = "placement (seed 7) had moved 'X' of call 0, m, from cpu to gpu:0"
    assert moved in note
    assert "check is_cpu()" in note


def test_an_answer_of_a_call_is_moved_too(hostile):
    """Where the caller did not say where it wants it; the note names the callee."""
    server = hostile(3)
    server.define("double", HOST_DOUBLE, config=ON_CPU)
    then = "return [reply(result.as_numpy())]\n"
    server.define("m", asking("double", then=then), config=ON_CPU)
    errors = [error for error in calls(server, "m") if error is not None]
    notes = [note for error in errors for note in error.run.notes]

    assert 0 < len(errors) < 8
    assert any("moved 'Y' of call 1, double, from cpu to gpu:0" in n for n in notes)


def test_what_is_asked_for_stays_as_it_is_asked_for(hostile):
    """Inputs are on the host by default, outputs where `PreferredMemory` says."""
    cpu = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)"
    then = "return [reply(result.as_numpy())]\n"
    for seed in SEEDS:
        server = hostile(seed)
        server.define("double", HOST_DOUBLE, config=ON_CPU)
        server.define("m", asking("double", cpu, then), config=ON_CPU)

        assert [None] * 2 == calls(server, "m", 2)


def test_a_seed_finds_the_same_again(hostile):
    """Whatever other models do meanwhile, and in every process."""

    def found(seed, others):
        server = hostile(seed)
        server.define("m", LUCKY_DOUBLE, config=LUCKY)
        server.define("other", CAREFUL, config=LUCKY)
        pattern = []
        for _ in range(8):
            calls(server, "other", others)
            pattern += [error is None for error in calls(server, "m", 1)]
        return pattern

    assert found(7, 0) == found(7, 3)
    assert len({tuple(found(seed, 0)) for seed in SEEDS}) > 6


def test_chance_is_the_same_in_every_process():
    """So that a seed in a report is worth something."""
    hostile = HostilePlacement(7)
    found = [hostile.moves("m", "X", "input") for _ in range(8)]

    assert [False, False, False, False, True, False, False, False] == found


def test_what_finds_no_room_stays_where_it_is(hostile, monkeypatch):
    """The move was not requested, so nothing fails."""
    server = hostile(7)
    server.define("m", LUCKY_DOUBLE, config=LUCKY)

    def full(*_):
        raise DeviceError("no room")

    monkeypatch.setattr(type(server.runtime), "to_device", full)

    assert [None] * 8 == calls(server, "m")


def test_copies_of_hostile_placement_are_marked(hostile):
    """They are no cost of the model's."""
    server = hostile(7)
    server.define("m", CAREFUL, config=LUCKY)
    copies = [
        copy
        for _ in range(8)
        for copy in server.infer("m", {"X": X}).trace.spans[0].copies
    ]

    assert {("X", "cpu", "gpu:0", True)} == {
        (copy.tensor, copy.source, copy.target, copy.hostile) for copy in copies
    }


def test_without_a_device_one_is_simulated(server):
    """For "auto"; NumPy alone has nowhere to move a tensor to."""
    with Server(hostile_placement=1) as hostile:
        assert 1 == parts_of(hostile).devices.hostile_seed
        assert 0 < hostile.runtime.gpu_count
    with pytest.raises(ValueError, match="the runtime 'numpy' has none"):
        Server(hostile_placement=1, runtime="numpy")
    assert parts_of(server).devices.hostile_seed is None


@pytest.mark.parametrize("seed", [True, "7", 1.5])
def test_a_seed_is_a_number(seed):
    """Any other value is refused, also False."""
    assert parse_hostile(None) is parse_hostile(False) is None
    with pytest.raises(ValueError, match="is not valid; expected a seed"):
        parse_hostile(seed)


def test_a_tensor_on_a_device_may_come_to_the_host(hostile):
    """The other way round: who takes it for a device's is found, too."""
    server = hostile(5)
    server.define("double", DOUBLE, config=LUCKY)
    then = "result = pb_utils.Tensor.from_dlpack('Y', xp.from_dlpack(result))\n"
    server.define("m", asking("double", then=then), config=ON_CPU)
    errors = [error for error in calls(server, "m") if error is not None]

    assert 0 < len(errors) < 8
    assert any("from gpu:0 to cpu" in n for e in errors for n in e.run.notes)
