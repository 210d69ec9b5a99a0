"""Specification of instances on devices, and of a server's runtime."""

import pytest
import stage
from cells import CONFIG
from cells import DOUBLE as HOST_DOUBLE
from devices import library

from blsnb.engine.instance.placement import on_device
from blsnb.errors import ModelLoadError
from blsnb.inference_server import Server
from blsnb.model.config import InstanceSpec
from blsnb.parts.server_parts import parts_of
from blsnb.runtimes.simulated_runtime import SimulatedRuntime

from .device_cells import (
    ANYWHERE,
    CHAIN,
    DOUBLE,
    GPU,
    HOST,
    KIND_GPU,
    LOOK,
    ON_GPU,
    X,
    asking,
    device_cell,
)


class TestInstances:
    """Instances and their devices."""

    def test_without_a_gpu_kind_gpu_does_not_load(self, server):
        """The error has Triton's text and advice."""
        with pytest.raises(ModelLoadError) as failed:
            server.define("m", HOST_DOUBLE, config=f"{CONFIG} {KIND_GPU}")

        text = (
            "instance group m_0 of model m has kind KIND_GPU but no GPUs are available"
        )
        assert text in failed.value.message
        assert "this machine has none: with KIND_AUTO" in str(failed.value)

    def test_without_a_kind_a_gpu_is_used_where_there_is_one(self, device):
        """The default and KIND_AUTO use it, as on Triton."""
        device.define("m", DOUBLE, config=CONFIG)
        (group,) = device.config("m")["instance_group"]

        assert ("KIND_GPU", [0]) == (group["kind"], group["gpus"])
        assert "gpu:0" == device.infer("m", {"X": X}).trace.models[0].device
        assert () == device.model("m").findings

    def test_each_gpu_has_its_instances(self):
        """Each knows its device; their names are equal, as on Triton."""
        source = device_cell(
            "return [reply(np.array([int(self.args['model_instance_device_id'])],"
            " np.float32))]",
            methods="""
            def initialize(self, args):
                self.args = args
                stage.seen.append((args["model_instance_name"],
                    args["model_instance_kind"], args["model_instance_device_id"]))

            """,
        )
        stage.values["xp"] = library("simulated")
        with Server(runtime=SimulatedRuntime(2)) as server:
            server.define("m", source, config=f"{CONFIG} {KIND_GPU}")
            runs = [server.infer("m", {"X": X}) for _ in range(2)]

        assert "gpu:0,1" == runs[0].trace.models[0].device
        assert [0, 1] == [int(run["Y"][0]) for run in runs]
        used = [run.trace.spans[0].device_use.device for run in runs]
        assert ["gpu:0", "gpu:1"] == used
        assert [("m_0_0", "GPU", "0"), ("m_0_0", "GPU", "1")] == stage.seen

    @pytest.mark.parametrize(
        ("kind", "number", "device"),
        [("GPU", 0, True), ("GPU", 1, False), ("CPU", 0, False)],
    )
    def test_an_instance_runs_on_a_gpu_of_the_runtime(self, kind, number, device):
        """A runtime that replaced another may have fewer."""
        spec = InstanceSpec("m_0", kind, number)

        assert device is (on_device(SimulatedRuntime(1), spec) is not None)

    def test_a_gpu_that_is_not_there_is_refused(self, device):
        """The error lists the GPUs."""
        config = f"{CONFIG} instance_group {{ kind: KIND_GPU gpus: 3 }}"
        with pytest.raises(ModelLoadError, match=r"gpu id 3.*6\.000000 are: 0"):
            device.define("m", DOUBLE, config=config)

    @pytest.mark.parametrize("value", ["", "maybe", "True"])
    def test_force_cpu_has_two_values(self, server, value):
        """Triton knows no others; its text has a stray quotation mark."""
        config = f"{CONFIG} {ANYWHERE.replace('no', value)}"
        with pytest.raises(ModelLoadError) as failed:
            server.define("m", HOST_DOUBLE, config=config)

        text = f"Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: {value}'"
        assert text in failed.value.message


class TestRuntimes:
    """The runtime of a server."""

    def test_a_server_takes_another_runtime_and_loads_its_models_anew(
        self, server, runtime
    ):
        """A model that does not load on it still serves as before."""
        server.define("m", DOUBLE, config=CONFIG)
        assert {"m": None} == server.use_runtime(runtime)
        assert "KIND_GPU" == server.config("m")["instance_group"][0]["kind"]
        assert runtime == server.runtime.name

        server.define("gpu", DOUBLE, config=ON_GPU)
        failures = server.use_runtime("numpy")

        assert failures["m"] is None
        assert "no GPUs are available" in failures["gpu"].message
        assert "KIND_CPU" == server.config("m")["instance_group"][0]["kind"]
        assert (X * 2).tolist() == server.infer("gpu", {"X": X})["Y"].tolist()

    def test_models_of_two_runtimes_can_call_each_other(self, server, runtime):
        """The model of the new runtime receives NumPy arrays."""
        server.use_runtime(runtime)
        server.define("look", LOOK, config=f"{CONFIG} {ANYWHERE}")
        server.define("double", DOUBLE, config=ON_GPU)
        server.define("m", asking("double", then=CHAIN), config=ON_GPU)
        failures = server.use_runtime("numpy")
        run = server.infer("m", {"X": X})

        assert ["double", "m"] == sorted(n for n, error in failures.items() if error)
        assert [HOST, GPU, HOST] == stage.seen
        assert (X * 2 + 1).tolist() == run["Y"].tolist()

    def test_a_run_on_a_device_is_replayed_where_there_is_none(
        self, server, device, xp
    ):
        """Its inputs are moved to the host."""
        device.define("m", DOUBLE, config=ON_GPU)
        run = device.infer("m", {"X": xp.asarray(X)})
        server.define("m", HOST_DOUBLE, config=CONFIG)
        again = run.replay(0, server=server).this

        assert "gpu:0" == run.trace.spans[0].inputs[0].device
        (span,) = again.trace.spans
        assert "cpu" == span.inputs[0].device
        assert (X * 2).tolist() == span.outputs[0].view().tolist()

    def test_an_unknown_runtime_changes_nothing(self, server):
        """Neither the constructor nor `use_runtime` accepts it."""
        with pytest.raises(ValueError, match="runtime='torch' is not valid"):
            Server(runtime="torch")
        with pytest.raises(ValueError, match="runtime='torch' is not valid"):
            server.use_runtime("torch")

        assert "numpy" == server.runtime.name
        assert parts_of(server).devices.reason
