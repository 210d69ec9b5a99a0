"""Methods that are nearly hooks: Triton passes over them, and so does blsnb; aloud."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError

X = {"X": [1.0]}
BRITISH = cell(
    "return [reply(x_of(request))]",
    methods="""
    def initialise(self, args):
        raise ValueError("never")

    """,
)
HOOKS = """
class Base:
    initialize = finalize = staticmethod(print)


class TritonPythonModel(Base):"""


def test_a_method_that_is_nearly_a_hook_is_noted_once(server):
    """The model loads, as on Triton, and the first run says what was not called."""
    server.define("m", BRITISH, config=CONFIG)

    told = "Triton never calls 'initialise' (initialize?) of m_0: it is not a hook."
    assert [told] == server.infer("m", X).notes
    assert [] == server.infer("m", X).notes


def test_a_model_without_execute_is_asked_about_the_one_it_has(server):
    """With the failure, whose text is Triton's."""
    server.define("m", DOUBLE.replace("def execute", "def excute"), config=CONFIG)
    with pytest.raises(InferenceError, match="does not implement `execute`") as caught:
        server.infer("m", X)

    [note] = caught.value.run.notes
    assert "'excute' (execute?)" in note


def test_methods_beside_hooks_are_nobodys_business(server):
    """A helper may be called alike where the hook itself is there."""
    source = BRITISH.replace("class TritonPythonModel:", HOOKS)
    server.define("m", source, config=CONFIG)

    assert [] == server.infer("m", X).notes
