"""PyTorch's tensors on a GPU go in and out by DLPack; what needs both skips here."""

import numpy as np
import pytest
import stage
from devices import CUPY, WHY_NOT, library

from blsnb.inference_server import Server

from .device_cells import ON_GPU, asking, device_cell

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(CUPY is None, reason=WHY_NOT),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch has no GPU"),
]
X = np.arange(4, dtype=np.float32)
TRIPLE = device_cell(
    """
    array = torch.from_dlpack(tensor) if not tensor.is_cpu() else torch.from_numpy(
        tensor.as_numpy()).cuda()
    stage.seen.append(str(array.device))
    with torch.cuda.stream(torch.cuda.Stream()):
        result = array * 3
    return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("Y", result)])]
    """,
    head="import torch",
)


@pytest.fixture
def device():
    """A server on the GPU."""
    stage.values["xp"] = library("cupy")
    with Server(runtime="cupy") as server:
        yield server
        stage.clear()


def test_torch_works_on_what_another_model_left_on_the_gpu(device):
    """No copy is made on the host, and PyTorch's stream is waited for."""
    device.define("triple", TRIPLE, config=ON_GPU)
    device.define("m", asking("triple"), config=ON_GPU)
    run = device.infer("m", {"X": torch.from_numpy(X).cuda()})

    assert (X * 3).tolist() == run["Y"].tolist()
    assert ["cuda:0"] == [seen for seen in stage.seen if isinstance(seen, str)]
    assert () == run.trace.spans[1].copies


def test_bf16_of_torch_crosses(device):
    """BF16 works by DLPack only, as on Triton."""
    source = TRIPLE.replace("array * 3", "(array * 3).to(torch.bfloat16)")
    device.define(
        "m",
        source,
        config=ON_GPU.replace('Y" data_type: TYPE_FP32', 'Y" data_type: TYPE_BF16'),
    )

    assert (X * 3).tolist() == device.infer("m", {"X": X})["Y"].tolist()
