"""The order of a request's inputs, found once and remembered."""

import itertools

import numpy as np

from blsnb.engine.instance.inputs import InputOrder
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef


def refs(names):
    """Return tensors of these names."""
    data = np.zeros(1, np.float32).tobytes()
    return tuple(TensorRef(name, BY_DATATYPE["FP32"], (1,), data) for name in names)


def met(order, names, extra=""):
    """Return the names in the order in which a model meets them."""
    return "".join(ref.name for ref in order.of(refs(names), refs(extra)))


def test_what_the_scheduler_gives_wins():
    """Over an input of the same name that a client sends."""
    extra = refs("X")
    assert extra == InputOrder().of(refs("X"), extra)


def test_the_same_names_have_the_same_order():
    """However many others came between."""
    order = InputOrder()
    several = ["".join(each) for each in itertools.permutations("ABCDEF")]
    once = [met(order, names) for names in several]
    assert once == [met(order, names) for names in several]
    assert {"ABCDEF"} == {"".join(sorted(each)) for each in once}


def test_whose_an_input_is_makes_a_difference():
    """A client's goes through one table more."""
    assert met(InputOrder(), "ABC") != met(InputOrder(), "AB", "C")
