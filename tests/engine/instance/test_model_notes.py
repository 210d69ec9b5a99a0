"""Methods that are nearly hooks: Triton passes over them, and so does blsnb; aloud."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError
from blsnb.engine.instance.model_notes import ModelNotes, static_attribute

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
    """The model loads as on Triton; the first run has the note."""
    server.define("m", BRITISH, config=CONFIG)

    told = "Triton never calls 'initialise' (initialize?) of m_0: it is not a hook."
    assert [told] == server.infer("m", X).notes
    assert [] == server.infer("m", X).notes


def test_a_missing_execute_gets_a_suggestion(server):
    """It is on the card, and accompanies Triton's error."""
    source = DOUBLE.replace("def execute", "def excute")
    meant, missing = server.define("m", source, config=CONFIG).findings
    assert "'excute' (execute?)" in meant
    absent = "TritonPythonModel has no execute(): every request fails, as on Triton."
    assert absent == missing
    with pytest.raises(
        InferenceError, match=r"does not implement `execute` method\.$"
    ) as caught:
        server.infer("m", X)

    assert [meant] == caught.value.run.notes


def test_helpers_similar_to_hooks_are_ignored(server):
    """A helper may have a similar name if the hook exists."""
    source = BRITISH.replace("class TritonPythonModel:", HOOKS)
    server.define("m", source, config=CONFIG)

    assert [] == server.infer("m", X).notes


class Kind(type):
    of_kind = 1


class Base:
    inherited, hidden = 2, 3


class Model(Base, metaclass=Kind):
    hidden = 4

    def __init__(self):
        self.own = 5
        self.inherited = 6

    @property
    def computed(self):
        raise AssertionError


class Slotted:
    __slots__ = ("filled",)


class Hostile:
    @property
    def __dict__(self):
        raise AssertionError


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (Model(), "own", 5),
        (Model(), "inherited", 6),
        (Model(), "hidden", 4),
        (Model(), "computed", vars(Model)["computed"]),
        (Model(), "of_kind", None),
        (Model(), "missing", None),
        (Model, "inherited", 2),
        (Model, "of_kind", 1),
        (Model, "own", None),
        (Slotted(), "filled", vars(Slotted)["filled"]),
        (Hostile(), "anything", None),
    ],
)
def test_an_attribute_is_read_without_running_code(owner, name, value):
    """Attributes of the object come first, then those of its classes in order."""
    assert value is static_attribute(owner, name)


def test_a_subject_is_noted_once_and_each_warning_is_on_the_card():
    """The instances of a model share the subjects."""
    notes, other = ModelNotes("m_0"), ModelNotes("m_1")
    other.subjects = notes.subjects
    notes.queue("a", "first")
    notes.queue("a", "again")
    other.queue("a", "other")
    notes.warn("b", "careful")
    other.warn("b", "careful")

    assert (["first", "careful"], ["careful"]) == (notes.queued, notes.findings)
    assert ([], ["careful"]) == (other.queued, other.findings)
