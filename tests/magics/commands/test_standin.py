"""Specification of %triton standin."""

import pytest

CONFIG = """%%triton_config leaf
backend: "tensorrt"
input { name: "X" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] }
"""
ASK = "import blsnb; run = blsnb.infer('leaf', {'X': [1.0, 2.0]}); run['Y'].tolist()"


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
