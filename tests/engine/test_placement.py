"""Specification of placement: where Triton has each tensor, and what it copies."""

import gc

import numpy as np
import pytest
import stage
from cells import CONFIG
from cells import DOUBLE as HOST_DOUBLE
from devices import RUNTIMES, library

from blsnb.errors import InferenceError, InputError, ModelLoadError
from blsnb.inference_server import Server
from blsnb.runtimes.simulated import DEVICES, asarray
from blsnb.runtimes.simulated_runtime import SimulatedRuntime
from blsnb.tensors.summary import TensorSummary

from .device_cells import (
    ANYWHERE,
    DOUBLE,
    KIND_GPU,
    LOOK,
    ON_CPU,
    ON_GPU,
    asking,
    device_cell,
)

HOST, GPU = (True, (1, 0)), (False, (2, 0))
X = np.arange(4, dtype=np.float32)
TO_CPU = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)"
TO_GPU = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_GPU)"


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    """The name of a runtime with a device, whose arrays models find on the stage."""
    stage.values["xp"] = library(request.param)
    return request.param


@pytest.fixture
def xp(runtime):
    """The library of its arrays."""
    return stage.values["xp"]


@pytest.fixture
def device(runtime):
    """A server with a device."""
    with Server(runtime=runtime) as server:
        yield server
        stage.clear()


def copies(run, row=0):
    """Name, source and target of each tensor that was copied for a call."""
    return [(c.tensor, c.source, c.target) for c in run.trace.spans[row].copies]


class TestInputs:
    """Where a model gets its inputs."""

    def test_from_outside_they_are_on_the_host(self, device):
        """A client's bytes are: the kind of the instance moves nothing."""
        device.define("m", DOUBLE, config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert [HOST] == stage.seen
        assert (X * 2).tolist() == run["Y"].tolist()

    def test_by_default_they_are_brought_to_the_host(self, device):
        """FORCE_CPU_ONLY_INPUT_TENSORS is "yes", also for an instance on a GPU."""
        device.define("double", DOUBLE, config=ON_GPU)
        device.define("look", LOOK, config=f"{CONFIG} {KIND_GPU}")
        device.define("m", asking("double", then=CHAIN), config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert [HOST, GPU, HOST] == stage.seen
        assert (X * 2 + 1).tolist() == run["Y"].tolist()
        assert [("X", "gpu:0", "cpu")] == copies(run, 2)

    @pytest.mark.parametrize("kind", ["KIND_CPU", "KIND_GPU"])
    def test_where_it_is_allowed_they_stay_where_they_are(self, device, kind):
        """Of an instance of any kind: nothing is copied between the models."""
        config = f"{CONFIG} {ANYWHERE} instance_group {{ kind: {kind} }}"
        device.define("double", DOUBLE, config=config)
        device.define("m", asking("double", then=CHAIN_DOUBLE), config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert [HOST, GPU, GPU, GPU] == stage.seen
        assert (X * 4).tolist() == run["Y"].tolist()
        assert [] == copies(run, 1) + copies(run, 2)

    def test_texts_are_always_on_the_host(self, device):
        """No device has strings."""
        config = CONFIG.replace("TYPE_FP32", "TYPE_STRING") + KIND_GPU + ANYWHERE
        device.define(
            "m", device_cell("return [reply(tensor.as_numpy())]"), config=config
        )

        assert [b"a"] == device.infer("m", {"X": ["a"]})["Y"].tolist()

    def test_an_array_on_a_device_is_an_input(self, device, xp):
        """As by CUDA shared memory: it stays there where the model lets it."""
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


ASK = """
again = pb_utils.InferenceRequest(
    model_name="{name}", inputs=[pb_utils.Tensor.from_dlpack("X", result)],
    requested_output_names=["Y"], trace=request.trace()).exec()
if again.has_error():
    raise pb_utils.TritonModelException(again.error().message())
result = pb_utils.get_output_tensor_by_name(again, "Y")
{seen}
"""
SEEN = "stage.seen.append((result.is_cpu(), result.__dlpack_device__()))"
CHAIN = ASK.format(name="look", seen="")
CHAIN_DOUBLE = ASK.format(name="double", seen=SEEN)


class TestOutputs:
    """Where the outputs of a BLS call land."""

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
    def test_they_stay_unless_they_are_wanted_elsewhere(
        self, device, more, callee, place
    ):
        """`PreferredMemory` decides, and without it the callee."""
        device.define("callee", callee, config=ON_CPU)
        device.define("m", asking("callee", more), config=ON_GPU)
        run = device.infer("m", {"X": X})

        assert place == stage.seen[-1]
        assert (X * 2).tolist() == run["Y"].tolist()

    def test_a_client_gets_them_on_the_host(self, device):
        """The copy is seen on the call that answered, and computes until it is done."""
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
        """An error, as on Triton; the model goes on."""
        there = TO_GPU.replace("GPU)", "GPU, 7)")
        device.define("callee", DOUBLE, config=ON_GPU)
        device.define("m", asking("callee", there), config=ON_GPU)
        with pytest.raises(InferenceError, match="Failed to get current CUDA device"):
            device.infer("m", {"X": X})

    def test_responses_of_a_stream_are_placed_one_by_one(self, device):
        """For a client on the host, for a model where they are."""
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


class TestTensors:
    """What a model can do with a tensor on a device."""

    def test_as_numpy_fails_in_tritons_words_and_three_remedies_follow(
        self, device, xp
    ):
        """The text is Triton's; what helps is a note of the run."""
        device.define("look", LOOK, config=f"{CONFIG} {ANYWHERE}")
        with pytest.raises(InferenceError) as failed:
            device.infer("look", {"X": xp.asarray(X)})
        (note,) = [n for n in failed.value.run.notes if "as_numpy()" in n]

        text = (
            "TritonModelException: Tensor is stored in GPU and cannot be converted to "
            "NumPy.\n\nAt:\n"
        )
        assert text in failed.value.message
        assert "cupy.from_dlpack(tensor)" in note
        assert "FORCE_CPU_ONLY_INPUT_TENSORS" in note
        assert "TRITONSERVER_MEMORY_CPU" in note

    def test_a_tensor_of_a_devices_array_is_no_copy(self, device):
        """What is written before it is sent is sent; afterwards it is frozen."""
        source = device_cell(
            """
            array = xp.asarray(np.zeros(2, np.float32))
            result = pb_utils.Tensor.from_dlpack("Y", array)
            array[...] = 5
            response = pb_utils.InferenceResponse([result])
            stage.values["array"] = array
            return [response]
            """
        )
        device.define("m", source, config=ON_GPU)

        assert [5.0, 5.0] == device.infer("m", {"X": X})["Y"].tolist()

    def test_the_first_transmission_freezes_a_tensor(self, device):
        """What is written to its array afterwards is not sent with it again."""
        source = device_cell(
            """
            array = xp.asarray(np.ones(2, np.float32))
            mine = pb_utils.Tensor.from_dlpack("X", array)
            answers = []
            for _ in range(2):
                asked = pb_utils.InferenceRequest(model_name="double", inputs=[mine],
                    requested_output_names=["Y"], trace=request.trace())
                answers += asked.exec().output_tensors()
                array[...] = 7
            stage.seen.append(xp.from_dlpack(answers[0]).get().tolist())
            return [pb_utils.InferenceResponse([answers[1]])]
            """
        )
        device.define("double", DOUBLE, config=ON_GPU)
        device.define("m", source, config=ON_GPU)

        assert [2.0, 2.0] == device.infer("m", {"X": X})["Y"].tolist()
        assert [2.0, 2.0] == stage.seen[-1]

    def test_a_receiver_writes_into_a_copy_of_its_own(self, device, xp):
        """Values cross, buffers do not: the sender's array and the trace stay."""
        source = device_cell(
            """
            array = xp.from_dlpack(tensor)
            array[...] = 9
            stage.seen.append(xp.from_dlpack(tensor).get().tolist())
            return [pb_utils.InferenceResponse([
                pb_utils.Tensor.from_dlpack("Y", array)])]
            """
        )
        device.define("m", source, config=ON_GPU)
        run = device.infer("m", {"X": xp.asarray(X)})

        assert X.tolist() == run.trace.spans[0].inputs[0].view().tolist()
        assert X.tolist() == stage.seen[0]
        assert [9.0] * 4 == run["Y"].tolist()

    def test_a_consumer_never_reads_before_the_producer_is_done(self, device):
        """Work that is pending when ``execute`` returns is done in what is sent."""
        source = device_cell(
            """
            array = xp.asarray(tensor.as_numpy())
            for _ in range(10):
                array = array + 1
            return [pb_utils.InferenceResponse([
                pb_utils.Tensor.from_dlpack("Y", array)])]
            """
        )
        device.define("m", source, config=ON_GPU)

        assert (X + 10).tolist() == device.infer("m", {"X": X})["Y"].tolist()

    def test_bf16_crosses_models_on_the_device(self, device):
        """No array library here knows it; its bits arrive."""
        config = (ON_GPU).replace("TYPE_FP32", "TYPE_BF16")
        source = device_cell(
            """
            from blsnb.tensors import dlpack
            stage.seen.append(tensor.is_cpu())
            bits = xp.asarray(np.array([0x3F80, 0x4000], np.uint16))
            capsule = bits.__dlpack__()
            dlpack.mark_bf16(capsule)
            return [pb_utils.InferenceResponse([
                pb_utils.Tensor.from_dlpack("Y", capsule)])]
            """
        )
        device.define("callee", source, config=config)
        device.define("m", asking("callee"), config=config)
        run = device.infer("m", {"X": [1.0]})

        assert GPU == stage.seen[-1]
        assert "BF16" == run.trace.spans[1].outputs[0].dtype.datatype
        assert [1.0, 2.0] == run["Y"].tolist()

    @pytest.mark.parametrize(
        ("array", "words"),
        [
            ("xp.asarray(np.zeros((4, 4)))[:, :2]", "not contiguous"),
            ("xp.asarray(np.zeros(2, np.complex64))", "Dtype is invalid"),
        ],
    )
    def test_what_triton_does_not_take_is_refused(self, device, array, words):
        """In Triton's words."""
        source = device_cell(f'pb_utils.Tensor.from_dlpack("Y", {array})')
        device.define("m", source, config=ON_GPU)
        with pytest.raises(InferenceError, match=words):
            device.infer("m", {"X": X})

    def test_without_a_device_there_is_no_tensor_on_one(self):
        """In the words of a Triton that finds no driver."""
        stage.values["xp"] = library("simulated")
        with Server(runtime="numpy") as server:
            server.define("m", device_cell('made("Y", np.zeros(1))'), config=ON_CPU)
            with pytest.raises(InferenceError, match="Failed to get current CUDA"):
                server.infer("m", {"X": X})


class TestInstances:
    """Which instances there are, and on which device."""

    def test_without_a_gpu_kind_gpu_does_not_load(self, server):
        """Triton's text, and what to write instead."""
        with pytest.raises(ModelLoadError) as failed:
            server.define("m", HOST_DOUBLE, config=f"{CONFIG} {KIND_GPU}")

        text = (
            "instance group m_0 of model m has kind KIND_GPU but no GPUs are available"
        )
        assert text in failed.value.message
        assert "there is none here: with KIND_AUTO" in str(failed.value)

    def test_without_a_kind_a_gpu_is_used_where_there_is_one(self, device):
        """As on Triton, by default and with KIND_AUTO."""
        device.define("m", DOUBLE, config=CONFIG)
        (group,) = device.config("m")["instance_group"]

        assert ("KIND_GPU", [0]) == (group["kind"], group["gpus"])
        assert "gpu:0" == device.infer("m", {"X": X}).trace.models[0].device
        assert () == device.model("m").findings

    def test_each_gpu_has_its_instances(self):
        """And each knows which is its own; their names are alike, as on Triton."""
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
            run = server.infer("m", {"X": X})

        assert "gpu:0,1" == run.trace.models[0].device
        assert [("m_0_0", "GPU", "0"), ("m_0_0", "GPU", "1")] == stage.seen

    def test_a_gpu_that_is_not_there_is_refused(self, device):
        """With those that there are."""
        config = f"{CONFIG} instance_group {{ kind: KIND_GPU gpus: 3 }}"
        with pytest.raises(ModelLoadError, match=r"gpu id 3.*6\.000000 are: 0"):
            device.define("m", DOUBLE, config=config)

    @pytest.mark.parametrize("value", ["", "maybe", "True"])
    def test_force_cpu_has_two_values(self, server, value):
        """Triton knows no others; the quotation mark is its own."""
        config = f"{CONFIG} {ANYWHERE.replace('no', value)}"
        with pytest.raises(ModelLoadError) as failed:
            server.define("m", HOST_DOUBLE, config=config)

        text = f"Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: {value}'"
        assert text in failed.value.message


class TestTrace:
    """What is seen of a device."""

    def test_the_device_is_measured_by_its_own_clock(self, device):
        """Compute ends when the device has done its work; so do the phases."""
        device.define("m", DOUBLE, config=ON_GPU)
        span = device.infer("m", {"X": np.ones(1 << 20, np.float32)}).trace.spans[0]
        use = span.device_use

        assert "gpu:0" == use.device
        phase = span.compute_output_start_ns - span.compute_input_end_ns
        assert 0 < use.compute_ns <= phase
        assert 8 << 20 <= use.peak_bytes
        assert 0 < use.in_use_bytes <= use.peak_bytes

    def test_an_instance_on_the_host_has_used_no_device(self, device):
        """Nothing is measured where nothing runs."""
        device.define("m", HOST_DOUBLE, config=ON_CPU)

        assert device.infer("m", {"X": X}).trace.spans[0].device_use is None

    @pytest.mark.parametrize("runtime", ["simulated"], indirect=True)
    def test_looking_at_a_tensor_moves_its_summary_only(self, device, xp):
        """The trace keeps the value on the device."""
        device.define("m", DOUBLE, config=ON_GPU)
        run = device.infer("m", {"X": xp.asarray(np.ones(512 * 512, np.float32))})
        before = DEVICES[0].counts.to_host_bytes
        ref = run.trace.spans[0].inputs[0]
        summary = TensorSummary(ref)

        assert (1.0, 1.0) == (summary.stats.min, summary.stats.mean)
        assert 512 * 512 == sum(summary.histogram.counts)
        assert before == DEVICES[0].counts.to_host_bytes

    @pytest.mark.parametrize("runtime", ["simulated"], indirect=True)
    def test_values_on_a_device_count_in_the_budget(self, runtime, xp):
        """What is evicted gives its memory back."""
        gc.collect()
        in_use = DEVICES[0].in_use
        with Server(runtime=runtime, trace_budget_bytes=0) as server:
            server.define("m", DOUBLE, config=ON_GPU)
            run = server.infer("m", {"X": xp.asarray(X)})

            assert run.trace.spans[0].inputs[0].evicted
            assert "gpu:0" == run.trace.spans[0].inputs[0].device
        assert in_use == DEVICES[0].in_use


class TestEnsembles:
    """Between the steps of an ensemble."""

    def test_a_tensor_stays_on_the_device_between_steps(self, device):
        """And comes to the host at the end, for the client."""
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
    """Beside the response cache."""

    def test_what_is_on_a_device_is_not_kept(self, runtime, xp):
        """Triton's cache takes tensors on the host only."""
        cached = "response_cache { enable: true }"
        with Server(runtime=runtime, cache_bytes=1 << 20) as server:
            server.define("m", DOUBLE, config=f"{ON_GPU} {cached}")
            for _ in range(2):
                server.infer("m", {"X": xp.asarray(X)})

            assert [GPU, GPU] == stage.seen
            stage.clear()


class TestRuntimes:
    """A server's own runtime."""

    def test_a_server_takes_another_runtime_and_loads_its_models_anew(
        self, server, runtime
    ):
        """What cannot be loaded on it serves on as it did."""
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

    def test_what_stayed_on_a_device_and_what_left_it_still_talk(self, server, runtime):
        """A model of the old runtime asks one of the new: it gets NumPy's arrays."""
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
        """Its inputs are brought to the host."""
        device.define("m", DOUBLE, config=ON_GPU)
        run = device.infer("m", {"X": xp.asarray(X)})
        server.define("m", HOST_DOUBLE, config=CONFIG)
        again = run.replay(0, server=server).this

        assert "gpu:0" == run.trace.spans[0].inputs[0].device
        (span,) = again.trace.spans
        assert "cpu" == span.inputs[0].device
        assert (X * 2).tolist() == span.outputs[0].view().tolist()

    def test_a_runtime_that_is_none_changes_nothing(self, server):
        """Neither at the start nor later."""
        with pytest.raises(ValueError, match="runtime must be one of"):
            Server(runtime="torch")
        with pytest.raises(ValueError, match="runtime must be one of"):
            server.use_runtime("torch")

        assert "numpy" == server.runtime.name
        assert server.runtime_reason
