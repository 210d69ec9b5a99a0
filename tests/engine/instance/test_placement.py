"""Specification of placement: where Triton has each tensor, and what it copies."""

import numpy as np
import pytest
import stage
from cells import CONFIG
from cells import DOUBLE as HOST_DOUBLE

from blsnb.errors import InferenceError, InputError
from blsnb.inference_server import Server
from blsnb.runtimes.simulated import asarray

from ..device_cells import (
    ANYWHERE,
    CHAIN,
    CHAIN_DOUBLE,
    DOUBLE,
    GPU,
    HOST,
    KIND_GPU,
    LOOK,
    ON_CPU,
    ON_GPU,
    X,
    asking,
    device_cell,
)

TO_CPU = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)"
TO_GPU = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_GPU)"


def copies(run, row=0):
    """Return name, source and target of each tensor that was copied for a call."""
    return [(c.tensor, c.source, c.target) for c in run.trace.spans[row].copies]


class TestInputs:
    """The placement of a model's inputs."""

    def test_inputs_of_clients_are_on_the_host(self, device):
        """The kind of the instance does not move a client's bytes."""
        device.define("m", DOUBLE, config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert [HOST] == stage.seen
        assert (X * 2).tolist() == run["Y"].tolist()

    def test_inputs_are_moved_to_the_host_by_default(self, device):
        """FORCE_CPU_ONLY_INPUT_TENSORS is "yes", even for an instance on a GPU."""
        device.define("double", DOUBLE, config=ON_GPU)
        device.define("look", LOOK, config=f"{CONFIG} {KIND_GPU}")
        device.define("m", asking("double", then=CHAIN), config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert [HOST, GPU, HOST] == stage.seen
        assert (X * 2 + 1).tolist() == run["Y"].tolist()
        assert [("X", "gpu:0", "cpu")] == copies(run, 2)

    @pytest.mark.parametrize("kind", ["KIND_CPU", "KIND_GPU"])
    def test_inputs_stay_on_the_device_if_allowed(self, device, kind):
        """No copy is made between the models, for instances of any kind."""
        config = f"{CONFIG} {ANYWHERE} instance_group {{ kind: {kind} }}"
        device.define("double", DOUBLE, config=config)
        device.define("m", asking("double", then=CHAIN_DOUBLE), config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert [HOST, GPU, GPU, GPU] == stage.seen
        assert (X * 4).tolist() == run["Y"].tolist()
        assert [] == copies(run, 1) + copies(run, 2)

    def test_texts_are_always_on_the_host(self, device):
        """Devices have no strings."""
        config = CONFIG.replace("TYPE_FP32", "TYPE_STRING") + KIND_GPU + ANYWHERE
        device.define(
            "m", device_cell("return [reply(tensor.as_numpy())]"), config=config
        )

        assert [b"a"] == device.infer("m", {"X": ["a"]})["Y"].tolist()

    def test_an_array_on_a_device_is_an_input(self, device, xp):
        """It stays there if the model allows it, as with CUDA shared memory."""
        device.define("m", DOUBLE, config=ON_GPU)
        run = device.infer("m", {"X": xp.asarray(X)})

        assert [GPU] == stage.seen
        assert (X * 2).tolist() == run["Y"].tolist()
        assert "gpu:0" == run.trace.spans[0].inputs[0].device

    def test_an_array_on_a_device_that_is_not_there_is_refused(self, server):
        """The error names the input."""
        server.define("m", HOST_DOUBLE, config=CONFIG)
        with pytest.raises(InputError, match="inputs X: Failed to get current CUDA"):
            server.infer("m", {"X": asarray(X)})


class TestOutputs:
    """The placement of the outputs of a BLS call."""

    @pytest.mark.parametrize(
        ("more", "callee", "place"),
        [
            ("", DOUBLE, GPU),
            (TO_CPU, DOUBLE, HOST),
            (TO_GPU, DOUBLE, GPU),
            ("", HOST_DOUBLE, HOST),
            (TO_CPU, HOST_DOUBLE, HOST),
            (TO_GPU, HOST_DOUBLE, GPU),
        ],
    )
    def test_outputs_stay_without_a_preference(self, device, more, callee, place):
        """`PreferredMemory` decides, otherwise the callee."""
        device.define("callee", callee, config=ON_CPU)
        device.define("m", asking("callee", more), config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert place == stage.seen[-1]
        assert (X * 2).tolist() == run["Y"].tolist()

    def test_outputs_stay_on_the_host_after_a_change_to_numpy(self, device):
        """A preference for a GPU means nothing there."""
        device.use_runtime("numpy")
        stage.values["xp"] = np
        device.define("callee", HOST_DOUBLE, config=CONFIG)
        device.define("m", asking("callee", TO_GPU), config=CONFIG)
        run = device.infer("m", {"X": X})

        assert HOST == stage.seen[-1]
        assert [[], []] == [copies(run), copies(run, 1)]

    def test_a_client_receives_outputs_on_the_host(self, device):
        """The copy belongs to the call's compute time."""
        device.define("m", DOUBLE, config=ON_GPU)
        run = device.infer("m", {"X": X})
        span = run.trace.spans[0]

        assert isinstance(run["Y"], np.ndarray)
        assert [("Y", "gpu:0", "cpu")] == copies(run)
        copy = span.copies[0]
        assert 16 == copy.byte_size
        end = copy.ns + copy.duration_ns
        assert span.compute_output_start_ns <= copy.ns < end <= span.compute_end_ns

    def test_a_device_that_is_not_there_fails_the_call(self, device):
        """The call has an error as on Triton, and the model continues."""
        there = TO_GPU.replace("GPU)", "GPU, 7)")
        device.define("callee", DOUBLE, config=ON_GPU)
        device.define("m", asking("callee", there), config=ON_GPU)
        with pytest.raises(InferenceError, match="Failed to get current CUDA device"):
            device.infer("m", {"X": X})

    def test_responses_of_a_stream_are_placed_one_by_one(self, device):
        """Each is moved to the host for a client, and stays for a model."""
        decoupled = "model_transaction_policy { decoupled: true }"
        source = device_cell(
            """
            sender = request.get_response_sender()
            for number in range(2):
                sender.send(pb_utils.InferenceResponse([made("Y", np.full(1, number,
                    np.float32))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            """
        )
        device.define("m", source, config=f"{ON_GPU} {decoupled}")
        stream = device.stream("m", {"X": X})

        assert [[0.0], [1.0]] == [r["Y"].tolist() for r in stream if r.outputs]
        assert [("Y", "gpu:0", "cpu")] * 2 == copies(stream.run)


class TestEnsembles:
    """Placement between the steps of an ensemble."""

    def test_a_tensor_stays_on_the_device_between_steps(self, device):
        """It is moved to the host for the client at the end."""
        config = """
        platform: "ensemble"
        input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
        output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
        ensemble_scheduling {
          step { model_name: "double" model_version: -1
            input_map { key: "X" value: "X" } output_map { key: "Y" value: "M" } }
          step { model_name: "double" model_version: -1
            input_map { key: "X" value: "M" } output_map { key: "Y" value: "Y" } }
        }
        """
        device.define("double", DOUBLE, config=ON_GPU)
        device.define("both", None, config=config)
        run = device.infer("both", {"X": X})

        assert [HOST, GPU] == stage.seen
        assert (X * 4).tolist() == run["Y"].tolist()
        assert [("Y", "gpu:0", "cpu")] == copies(run, 0)
        assert [] == copies(run, 1) + copies(run, 2)


class TestCache:
    """Placement with the response cache."""

    def test_tensors_on_a_device_are_not_cached(self, runtime, xp):
        """Triton's cache accepts tensors on the host only."""
        cached = "response_cache { enable: true }"
        with Server(runtime=runtime, cache_bytes=1 << 20) as server:
            server.define("m", DOUBLE, config=f"{ON_GPU} {cached}")
            for _ in range(2):
                server.infer("m", {"X": xp.asarray(X)})

            assert [GPU, GPU] == stage.seen
            stage.clear()
