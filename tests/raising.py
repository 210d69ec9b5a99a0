"""Models that raise a given exception at each of the points where their code runs."""

from __future__ import annotations

HEAD = """
import triton_python_backend_utils as pb_utils

def out(request):
    x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
    return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])

"""
CONFIG = """
backend: "python"
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""
EXECUTE = """
    def execute(self, requests):
        return [out(request) for request in requests]
"""
POINTS = {
    "import": "RAISE",
    "class body": "class TritonPythonModel:\n    RAISE",
    "class creation": (
        "class Meta(type):\n    def __new__(*given):\n        RAISE\n"
        "class TritonPythonModel(metaclass=Meta):\n    pass"
    ),
    "call of the class": (
        "class Meta(type):\n    def __call__(cls):\n        RAISE\n"
        f"class TritonPythonModel(metaclass=Meta):{EXECUTE}"
    ),
    "look-up in the class": (
        "class Meta(type):\n    def __getattr__(cls, name):\n        RAISE\n"
        f"class TritonPythonModel(metaclass=Meta):{EXECUTE}"
    ),
    "any look-up in the class": (
        "class Meta(type):\n    def __getattribute__(cls, name):\n        RAISE\n"
        f"class TritonPythonModel(metaclass=Meta):{EXECUTE}"
    ),
    "any look-up in the object": (
        "class TritonPythonModel:\n    def __getattribute__(self, name):\n"
        f"        RAISE{EXECUTE}"
    ),
    "look-up in the module": "def __getattr__(name):\n    RAISE",
    "look-up in the object": (
        "class TritonPythonModel:\n    def __getattr__(self, name):\n"
        f"        RAISE{EXECUTE}"
    ),
    "descriptor": (
        "class Descriptor:\n    def __get__(self, owner, kind=None):\n        RAISE\n"
        f"class TritonPythonModel:\n    auto_complete_config = Descriptor(){EXECUTE}"
    ),
    "auto_complete_config": (
        "class TritonPythonModel:\n    @staticmethod\n"
        f"    def auto_complete_config(config):\n        RAISE{EXECUTE}"
    ),
    "constructor": (
        f"class TritonPythonModel:\n    def __init__(self):\n        RAISE{EXECUTE}"
    ),
    **{
        f"property {name}": (
            f"class TritonPythonModel:\n    @property\n    def {name}(self):\n"
            f"        RAISE{EXECUTE if name != 'execute' else ''}"
        )
        for name in ("initialize", "execute", "finalize")
    },
    "finalize": (
        f"class TritonPythonModel:\n    def finalize(self):\n        RAISE{EXECUTE}"
    ),
    "execute": (
        "class TritonPythonModel:\n    def execute(self, requests):\n        RAISE"
    ),
    "generator": (
        "class TritonPythonModel:\n    def execute(self, requests):\n"
        "        yield 1\n        RAISE"
    ),
    "text of an exception": (
        "class Bad(Exception):\n    def __str__(self):\n        RAISE\n"
        "class TritonPythonModel:\n    def execute(self, requests):\n        raise Bad"
    ),
    "returned list": (
        "class Bad(list):\n    def __len__(self):\n        RAISE\n"
        "class TritonPythonModel:\n    def execute(self, requests):\n"
        "        return Bad([out(request) for request in requests])"
    ),
}


def raising(point: str, error: str) -> str:
    """Return a model that raises an exception at a point."""
    return HEAD + POINTS[point].replace("RAISE", f"raise {error}")
