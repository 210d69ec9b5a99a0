"""Specification of Shift+Tab in cells of models."""

from types import SimpleNamespace

import pytest

from blsnb.magics.completion.inspection import documentation
from blsnb.magics.completion.matchers import register

CELL = '''%%triton_model m --input X:FP32[4]
import numpy as np
import triton_python_backend_utils as pb_utils

def scaled(values, factor=2):
    """Multiply by a factor."""
    return values * factor

class TritonPythonModel:
    def execute(self, requests):
        x = np.negative(scaled(1))
        return [pb_utils.InferenceResponse([])]
'''


def documentation_at(text):
    return documentation(CELL, CELL.index(text) + len(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pb_utils.InferenceRes", "InferenceResponse("),
        ("pb_utils.InferenceResponse(", "InferenceResponse("),
        ("np.nega", "negative"),
        ("(scal", "scaled(values, factor=2)\n\nMultiply by a factor."),
        ("scaled(1", "scaled(values, factor=2)\n\nMultiply by a factor."),
    ],
)
def test_names_of_a_model_are_explained(text, expected):
    """Those of pb_utils, of packages and of the model itself, without a run."""
    assert expected in documentation_at(text)


def test_at_most_three_functions_of_a_name_are_explained():
    """Each branch may define another one."""
    branches = "".join(f"if x:\n    def f(a{n}): pass\n" for n in range(4))
    cell = f"%%triton_model m\n{branches}f("

    assert 3 == documentation(cell, len(cell)).count("f(a")


@pytest.mark.parametrize("cell", ["import numpy as np\nnp.zeros", "%%time\nnp.zeros"])
def test_other_cells_are_left_to_ipython(cell):
    """Their names are those of the notebook."""
    assert "" == documentation(cell, len(cell))


def test_the_first_line_of_a_model_is_left_to_ipython():
    """It explains the magic."""
    assert "" == documentation(CELL, 5)


def test_an_unfinished_source_is_explained():
    """A syntax error elsewhere does not matter."""
    cell = "%%triton_model m\nimport triton_python_backend_utils as pb_utils\nif\n"
    cell += "pb_utils.Tensor"

    assert "Tensor(" in documentation(cell, len(cell))


def test_the_kernel_answers_with_it_until_the_extension_is_unloaded():
    """Other cells and unknown names go to the kernel's own function."""
    kernel = SimpleNamespace()
    own = {"status": "ok", "found": False}

    class Kernel:
        def do_inspect(self, *_):
            return own

    kernel = Kernel()
    completer = SimpleNamespace(custom_matchers=[])
    stop = register(SimpleNamespace(kernel=kernel, Completer=completer))
    found = kernel.do_inspect(CELL, CELL.index("pb_utils.Inf") + 12)
    other = kernel.do_inspect("x = 1", 1)
    stop()

    assert "InferenceResponse(" in found["data"]["text/plain"]
    assert own is other
    assert own is kernel.do_inspect(CELL, CELL.index("pb_utils.Inf") + 12)
