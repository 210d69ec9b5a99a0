"""Specification of tensors on a device: what a model can do, and what is seen."""

import gc

import numpy as np
import pytest
import stage
from cells import CONFIG
from cells import DOUBLE as HOST_DOUBLE
from devices import library

from blsnb.errors import InferenceError
from blsnb.inference_server import Server
from blsnb.runtimes.simulated import DEVICES
from blsnb.tensors.summary import TensorSummary

from .device_cells import (
    ANYWHERE,
    DOUBLE,
    GPU,
    LOOK,
    ON_CPU,
    ON_GPU,
    X,
    asking,
    device_cell,
)


class TestTensors:
    """Operations of models on tensors of a device."""

    def test_as_numpy_fails_in_tritons_words_and_three_remedies_follow(
        self, device, xp
    ):
        """The text is Triton's; a note of the run has three fixes."""
        device.define("look", LOOK, config=f"{CONFIG} {ANYWHERE}")
        with pytest.raises(InferenceError) as failed:
            device.infer("look", {"X": xp.asarray(X)})
        (note,) = [n for n in failed.value.run.notes if "as_numpy()" in n]

        text = (
            "TritonModelException: Tensor is stored in GPU and cannot be converted to "
            "NumPy.\n\nAt:\n"
        )
        assert text in failed.value.message
        assert (
            "as_numpy() needs a tensor in host memory. Three fixes: work on the "
            "device, with cupy.from_dlpack(tensor) or torch.from_dlpack(tensor) where "
            "is_cpu() is False; for inputs, let Triton move them, by removing the "
            "parameter FORCE_CPU_ONLY_INPUT_TENSORS from the configuration or setting "
            'it to "yes"; for outputs of a BLS call, request them on the host, with '
            "preferred_memory=pb_utils.PreferredMemory("
            "pb_utils.TRITONSERVER_MEMORY_CPU)."
        ) == note

    def test_a_tensor_of_a_devices_array_is_no_copy(self, device):
        """It can be written until it is sent, and is frozen afterwards."""
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
        """Later changes of its array are not sent."""
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
        """Writes reach neither the sender's array nor the trace."""
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
        """Pending work of ``execute`` is complete in the sent tensor."""
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
        """No array library has the type, but its bits arrive."""
        config = (ON_GPU).replace("TYPE_FP32", "TYPE_BF16")
        source = device_cell(
            """
            from blsnb.tensors import dlpack, dtypes
            stage.seen.append(tensor.is_cpu())
            bits = xp.asarray(np.array([0x3F80, 0x4000], np.uint16))
            capsule = bits.__dlpack__()
            dlpack.labelled(capsule, dtypes.BF16)
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
    def test_unsupported_tensors_are_refused(self, device, array, words):
        """The errors have Triton's text."""
        source = device_cell(f'pb_utils.Tensor.from_dlpack("Y", {array})')
        device.define("m", source, config=ON_GPU)
        with pytest.raises(InferenceError, match=words):
            device.infer("m", {"X": X})

    def test_without_a_device_there_is_no_tensor_on_one(self):
        """The text is that of Triton without a driver."""
        stage.values["xp"] = library("simulated")
        with Server(runtime="numpy") as server:
            server.define("m", device_cell('made("Y", np.zeros(1))'), config=ON_CPU)
            with pytest.raises(InferenceError, match="Failed to get current CUDA"):
                server.infer("m", {"X": X})


class TestTrace:
    """Devices in traces."""

    def test_the_device_is_measured_by_its_own_clock(self, device):
        """Compute ends when the device has done its work."""
        device.define("m", DOUBLE, config=ON_GPU)
        span = device.infer("m", {"X": np.ones(1 << 20, np.float32)}).trace.spans[0]
        use = span.device_use

        assert "gpu:0" == use.device
        phase = span.compute_output_start_ns - span.compute_input_end_ns
        assert 0 < use.compute_ns <= phase
        assert 8 << 20 <= use.peak_bytes
        assert 0 < use.in_use_bytes <= use.peak_bytes

    def test_an_instance_on_the_host_has_used_no_device(self, device):
        """Nothing is measured without device work."""
        device.define("m", HOST_DOUBLE, config=ON_CPU)

        assert device.infer("m", {"X": X}).trace.spans[0].device_use is None

    @pytest.mark.parametrize("runtime", ["simulated"], indirect=True)
    def test_looking_at_a_tensor_moves_its_summary_only(self, device, xp):
        """The value stays on the device."""
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
        """Evicted values release their memory."""
        gc.collect()
        in_use = DEVICES[0].in_use
        with Server(runtime=runtime, trace_budget_bytes=0) as server:
            server.define("m", DOUBLE, config=ON_GPU)
            run = server.infer("m", {"X": xp.asarray(X)})

            assert run.trace.spans[0].inputs[0].evicted
            assert "gpu:0" == run.trace.spans[0].inputs[0].device
        assert in_use == DEVICES[0].in_use
