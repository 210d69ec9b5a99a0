"""Missing backends: how they are deduced, and the error of a load.

The real server only has Python's backend, so ONNX Runtime's cannot be compared.
"""

import pytest

from .scripted import write

CONFIGS = {
    "tensorrt": 'backend: "tensorrt"',
    "a platform": 'platform: "pytorch_libtorch"',
    "another platform": 'platform: "tensorrt_plan"',
    "any name": 'backend: "vllm"',
    "a file name": 'default_model_filename: "model.graphdef"',
    "a device that is not here": 'backend: "pytorch" instance_group { kind: KIND_GPU }',
    "no type": 'backend: "pytorch" input { name: "X" }',
    "a size below 0": 'backend: "pytorch" max_batch_size: -1',
}
FILES = {
    "a plan": ["1/model.plan"],
    "a graph": ["1/model.graphdef"],
    "a saved model": ["1/model.savedmodel/saved_model.pb"],
    "a network": ["1/model.xml"],
    "a script module": ["1/model.pt"],
    "a plan that is a folder": ["1/model.plan/x"],
    "two of them": ["1/model.pt", "1/model.plan"],
    "one beside a Python model": ["1/model.pt", "1/model.py"],
    "nothing in the first": ["1/x", "2/model.pt"],
    "ten before two": ["10/model.plan", "2/model.pt"],
    "nothing in a hidden folder": [".hidden/x", "1/model.pt"],
    "nothing that is known": ["1/model.bin"],
}


def load_error(target, config, paths=("1/model.bin",)):
    """Write and load a model; return the error of the load."""
    write(target, "elsewhere", config, files=dict.fromkeys(paths, b"x"))
    try:
        return target.load("elsewhere")
    finally:
        target.unload("elsewhere", wait=False)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configured_backend_is_not_here(agree, completing, name):
    """The text names it; devices and tensors are looked at later."""
    agree(lambda target: load_error(completing(target), CONFIGS[name]))


@pytest.mark.parametrize("name", FILES)
def test_a_file_tells_the_backend(agree, completing, name):
    """One of the folder that comes first by its name, in a certain order."""
    agree(lambda target: load_error(completing(target), None, FILES[name]))
