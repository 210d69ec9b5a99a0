"""A configuration written from what a run's tensors were."""

from __future__ import annotations

import numpy as np
import pytest
from cells import DOUBLE, calling, cell

from blsnb import InferenceError, ModelConfigError
from blsnb.errors import RepositoryError

LOOSE = """
input { name: "X" data_type: TYPE_FP32 dims: [ -1, -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1, -1 ] }
"""
COMPLETING = """
@staticmethod
def auto_complete_config(config):
    config.set_max_batch_size(4)
    for add, name in ((config.add_input, "X"), (config.add_output, "Y")):
        add({"name": name, "data_type": "TYPE_FP32", "dims": [-1]})
    return config

"""


def x(*shape):
    """Return an input of a shape."""
    return {"X": np.zeros(shape, np.float32)}


def dims(implied):
    """Return the dims of its tensors."""
    tensors = (*implied.config.inputs, *implied.config.outputs)
    return [list(each.dims) for each in tensors]


def test_the_newest_run_is_used(server):
    """By default the newest run is used; several runs show which axes vary."""
    server.define("m", DOUBLE, config=LOOSE)
    first = server.infer("m", x(2, 3))
    second = server.infer("m", x(2, 5))

    assert [[2, 5], [2, 5]] == dims(server.model("m").implied_config())
    assert [[2, 3], [2, 3]] == dims(server.model("m").implied_config(first))
    assert [[2, -1], [2, -1]] == dims(server.model("m").implied_config(first, second))


def test_calls_of_other_models_are_left_out(server):
    """A run may contain calls of many models."""
    server.define("m", DOUBLE, config=LOOSE)
    server.define("caller", calling("m"), config=LOOSE)
    server.infer("caller", x(2, 3))
    server.define("other", DOUBLE, config=LOOSE)
    server.infer("other", x(7, 7))

    assert [[2, 3], [2, 3]] == dims(server.model("m").implied_config())


def test_a_refused_request_shows_the_missing_configuration(server):
    """The refused request shows what the model should declare."""
    server.define("m", cell("return [reply(np.zeros(3, np.int8))]"), config="")
    with pytest.raises(InferenceError):
        server.infer("m", x(2))

    assert [[2]] == dims(server.model("m").implied_config())


def test_the_batch_size_may_come_from_auto_completion(server):
    """The model's config.pbtxt need not contain it."""
    server.define("m", cell("return [reply(x_of(request))]", methods=COMPLETING))
    server.infer("m", x(3, 5))
    implied = server.model("m").implied_config()

    assert [[5], [5]] == dims(implied)
    assert 4 == implied.config.max_batch_size


def test_the_text_makes_the_model_strict(server):
    """The model loads with it, and refuses other tensors."""
    server.define("m", DOUBLE, config=LOOSE)
    server.infer("m", x(2, 3))
    server.define("m", DOUBLE, config=server.model("m").implied_config().text())

    server.infer("m", x(2, 3))
    with pytest.raises(InferenceError, match=r"Expected \[2,3\], got \[2,4\]"):
        server.infer("m", x(2, 4))


def test_without_a_run_nothing_is_implied(server):
    """An unknown model and a model without runs are errors."""
    server.define("m", DOUBLE, config=LOOSE)
    with pytest.raises(ModelConfigError, match="this model have no tensors"):
        server.model("m").implied_config()
    with pytest.raises(RepositoryError, match="model not found in any"):
        server.model("nowhere").implied_config()
