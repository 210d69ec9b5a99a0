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
    """Return a function that makes servers with hostile placement."""
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
    """Return whether each of some requests fails."""
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


def test_a_model_that_relies_on_placement_fails(hostile):
    """It allows inputs anywhere, but treats them as NumPy arrays."""
    server = hostile(7)
    server.define("m", LUCKY_DOUBLE, config=LUCKY)
    errors = [error for error in calls(server, "m") if error is not None]

    assert 0 < len(errors) < 8
    assert "Tensor is stored in GPU" in errors[0].message


def test_a_careful_model_passes(hostile):
    """A model that checks the device of its tensors passes."""
    server = hostile(7)
    server.define("m", CAREFUL, config=LUCKY)

    assert [None] * 8 == calls(server, "m")


def test_the_note_names_the_tensor_and_the_seed(hostile):
    """The note has source, target and advice."""
    server = hostile(7)
    server.define("m", LUCKY_DOUBLE, config=LUCKY)
    error = next(filter(None, calls(server, "m")))
    (note,) = [note for note in error.run.notes if "Hostile" in note]

    assert (
        "Hostile placement (seed 7) had moved 'X' of call 0, m, from cpu to gpu:0. "
        "Triton may do that, too: check is_cpu(), read a tensor on a device with "
        "DLPack, or set preferred_memory in the request."
    ) == note


def test_a_move_without_a_failure_has_no_note(hostile):
    """A model that checks the device of its tensors needs no advice."""
    server = hostile(7)
    server.define("m", CAREFUL, config=LUCKY)
    runs = [server.infer("m", {"X": X}) for _ in range(8)]

    assert any(copy.hostile for run in runs for copy in run.trace.spans[0].copies)
    assert [[]] * 8 == [run.notes for run in runs]


def test_an_output_of_a_bls_call_is_moved_too(hostile):
    """A caller without a preference may get it anywhere; the note names the callee."""
    server = hostile(3)
    server.define("double", HOST_DOUBLE, config=ON_CPU)
    then = "return [reply(result.as_numpy())]\n"
    server.define("m", asking("double", then=then), config=ON_CPU)
    errors = [error for error in calls(server, "m") if error is not None]
    notes = [note for error in errors for note in error.run.notes]

    assert 0 < len(errors) < 8
    assert any("moved 'Y' of call 1, double, from cpu to gpu:0" in n for n in notes)


def test_required_placement_is_kept(hostile):
    """Inputs on the host by default, and outputs with `PreferredMemory`, stay."""
    cpu = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)"
    then = "return [reply(result.as_numpy())]\n"
    for seed in SEEDS:
        server = hostile(seed)
        server.define("double", HOST_DOUBLE, config=ON_CPU)
        server.define("m", asking("double", cpu, then), config=ON_CPU)

        assert [None] * 2 == calls(server, "m", 2)


def test_a_seed_gives_the_same_moves(hostile):
    """Requests to other models do not change the moves."""

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
    """A seed in a report can be used elsewhere."""
    hostile = HostilePlacement(7)
    found = [hostile.moves("m", "X", "input") for _ in range(8)]

    assert [False, False, False, False, True, False, False, False] == found


def test_a_move_without_device_memory_is_omitted(hostile, monkeypatch):
    """The move was optional, so nothing fails."""
    server = hostile(7)
    server.define("m", LUCKY_DOUBLE, config=LUCKY)

    def full(*_):
        raise DeviceError("no room")

    monkeypatch.setattr(type(server.runtime), "to_device", full)

    assert [None] * 8 == calls(server, "m")


def test_copies_of_hostile_placement_are_marked(hostile):
    """They do not count as costs of the model."""
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
    """With "auto" a device is simulated; NumPy alone has none."""
    with Server(hostile_placement=1) as hostile:
        assert "hostile placement, seed 1" in parts_of(hostile).devices.reason
        assert 0 < hostile.runtime.gpu_count
    with pytest.raises(ValueError, match="the runtime 'numpy' has none"):
        Server(hostile_placement=1, runtime="numpy")
    assert "hostile" not in parts_of(server).devices.reason


@pytest.mark.parametrize("seed", [True, "7", 1.5])
def test_a_seed_is_a_number(seed):
    """Other values except None and False are refused."""
    assert parse_hostile(None) is parse_hostile(False) is None
    with pytest.raises(
        ValueError, match=r"is not valid; expected a seed, such as 7, or None$"
    ):
        parse_hostile(seed)


def test_a_tensor_on_a_device_may_come_to_the_host(hostile):
    """A model that expects a device's tensor fails, too."""
    server = hostile(5)
    server.define("double", DOUBLE, config=LUCKY)
    then = "result = pb_utils.Tensor.from_dlpack('Y', xp.from_dlpack(result))\n"
    server.define("m", asking("double", then=then), config=ON_CPU)
    errors = [error for error in calls(server, "m") if error is not None]

    assert 0 < len(errors) < 8
    assert any("from gpu:0 to cpu" in n for e in errors for n in e.run.notes)
