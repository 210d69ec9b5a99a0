"""Specification of %triton standin."""

import pytest

CONFIG = """%%triton_config leaf
backend: "tensorrt"
input { name: "X" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] }
"""
ASK = "import blsnb; run = blsnb.infer('leaf', {'X': [1.0, 2.0]}); run['Y'].tolist()"

MODEL = """%%triton_model leaf
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        (x,) = request.inputs()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy())])
"""


@pytest.fixture
def leaf(notebook):
    """A notebook with a model whose backend is not available."""
    notebook.run(CONFIG)
    return notebook


def test_the_card_marks_it(leaf):
    """The card names the stand-in, and the value is the model's status."""
    ran = leaf.run("%triton standin leaf --zeros")

    assert "zeros" == ran.value.standin
    assert "leaf version 1 READY, stand-in: zeros" in ran.texts[0]
    assert [0, 0] == leaf.run(ASK).value


def test_every_kind_of_stand_in(leaf):
    """Zeros, random numbers, a function and a recorded run are supported."""
    leaf.run("def doubled(inputs):\n    return {'Y': inputs['X'] * 2}")
    leaf.run("%triton standin leaf --call doubled")
    assert [2, 4] == leaf.run(ASK).value
    leaf.run("%triton standin leaf --random 7")
    chance = leaf.run(ASK.replace("run =", "other =").replace("run[", "other[")).value
    assert [2, 4] != chance
    ran = leaf.run("%triton standin leaf --replay run")

    assert ran.value.standin.startswith("replay of run ")
    assert [2, 4] == leaf.run(ASK).value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("leaf", "one of the arguments --zeros --random --replay --call --remote is"),
        ("leaf --zeros --random 1", "not allowed with argument --zeros"),
        ("leaf --replay nothing", "'nothing' is not a variable that holds a run"),
        ("leaf --call nothing", "'nothing' is not a function of the notebook"),
        ("leaf --remote here:8001", "is not valid; expected one such as 'grpc://"),
    ],
)
def test_invalid_arguments_are_named(leaf, line, said):
    """Invalid arguments are named, and the model does not change."""
    ran = leaf.run(f"%triton standin {line}")

    assert said in ran.stderr
    assert "" == leaf.run("import blsnb; blsnb.server().model('leaf')").value.standin


def test_a_cell_with_the_model_ends_the_stand_in(notebook):
    """A cell that changes only the configuration keeps it."""
    config = CONFIG.replace("tensorrt", "python")
    notebook.run(config)
    notebook.run("%triton standin leaf --zeros")

    notebook.run(config + "max_batch_size: 0\n")
    assert [0, 0] == notebook.run(ASK).value

    notebook.run(MODEL)
    assert [1, 2] == notebook.run(ASK).value


def test_a_model_that_does_not_load_keeps_the_stand_in(leaf):
    """The configuration still names the backend that is not available."""
    leaf.run("%triton standin leaf --zeros")
    ran = leaf.run(MODEL)

    assert "unable to find backend library" in str(ran.error)
    assert [0, 0] == leaf.run(ASK).value
