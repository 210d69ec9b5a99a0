"""Methods that are nearly hooks: Triton passes over them, and so does blsnb; aloud."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb import InferenceError
from blsnb.engine.instance.model_notes import (
    ModelNotes,
    bound_to_thread,
    has_execute,
    note_of_names,
    static_attribute,
)

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


class Dynamic:
    def __getattr__(self, name):
        raise AssertionError


class OfDynamic(Dynamic):
    pass


class HostileKind(type):
    def __getattribute__(cls, name):
        raise ZeroDivisionError


class OfHostileKind(metaclass=HostileKind):
    pass


class Executing:
    execute = property(lambda self: 1 / 0)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Executing(), True),
        (SimpleNamespace(execute=None), False),
        (SimpleNamespace(execute=3), True),
        (Model(), False),
        (Dynamic(), True),
        (OfDynamic(), True),
        (OfHostileKind(), True),
    ],
    ids=lambda value: type.__dict__["__name__"].__get__(type(value)),
)
def test_a_model_has_execute_unless_it_certainly_lacks_it(model, expected):
    """A dynamic one may have it; no code of the model runs."""
    assert expected is has_execute(model)


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


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        ("execute", ""),
        ("initialise", "'initialise' (initialize?)"),
        ("finalise initialise", "'initialise' (initialize?) or 'finalise' (finalize?)"),
        ("initialize initialise", ""),
        ("executes", "'executes' (execute?)"),
        ("autocomplete_config", "'autocomplete_config' (auto_complete_config?)"),
        ("execute_model", ""),
        ("_execute", ""),
        ("exec", ""),
        ("finalizes initialized", "'initialized' (initialize?) or 'finalizes' (final"),
    ],
)
def test_a_method_that_resembles_a_missing_hook_is_named(names, meant):
    """Private methods and other names are the model's own."""
    kind = type("Kind", (), dict.fromkeys(names.split(), print))
    note = note_of_names("m_0", kind)

    assert bool(meant) == bool(note)
    assert note.startswith(f"Triton never calls {meant}" if meant else "")
    assert not note or note.endswith(" of m_0: it is not a hook.")


def test_a_value_that_resembles_a_hook_has_no_note():
    """Triton would not call it under the hook's name, either."""
    assert "" == note_of_names("m_0", type("Kind", (), {"initialise": 3}))


ONE_THREAD = (
    "On Triton both run on one; here the parameter BLSNB_THREAD with the value "
    '"instance" in the model\'s configuration gives them one.'
)


def executing(thread_id=1, noted=()):
    """Return an execution, and the notes that it receives."""
    notes = [*noted]
    request = SimpleNamespace(note=notes.append)
    call = SimpleNamespace(notes=notes or None)
    return SimpleNamespace(thread_id=thread_id, inflight=request, call=call), notes


async def coroutine():
    """Run on an event loop."""


def test_an_object_of_another_thread_is_noted_once_for_all_instances():
    """A coroutine has the thread of its loop on Triton, too."""
    model = SimpleNamespace(count=1, state=threading.local())
    notes, other = ModelNotes("m_0"), ModelNotes("m_1")
    other.subjects = notes.subjects
    execution, found = executing()
    assert not notes.thread_noted
    for hook in (coroutine, print, print):
        notes.note_bound(execution, hook, model, SimpleNamespace())
    other.note_bound(execution, print, model, SimpleNamespace())

    assert [
        "self.state (threading.local) of m_0 is bound to the thread of initialize(), "
        f"and execute() ran on another one. {ONE_THREAD}"
    ] == found
    assert notes.thread_noted
    assert other.thread_noted


def test_a_model_without_objects_of_a_thread_has_no_note():
    """It is looked at once."""
    notes = ModelNotes("m_0")
    execution, found = executing()
    notes.note_bound(execution, print, SimpleNamespace(x=1), SimpleNamespace(y=2))

    assert ([], True) == (found, notes.thread_noted)


ON_ANOTHER = (
    f"execute() of m_0 ran on another thread than its initialize(). {ONE_THREAD}"
)


@pytest.mark.parametrize(
    ("error", "thread_id", "noted", "is_noted"),
    [
        (ValueError("There is no current event loop"), 1, (), True),
        (ValueError("not thread-safe"), 1, (), True),
        (ValueError(3, "created in a different THREAD"), 1, (), True),
        (ValueError("signal only works in main thread"), 1, (), True),
        (ValueError("Cannot run in the wrong thread"), 1, ("other",), True),
        (ValueError("used in thread 1"), 1, (), True),
        (ValueError("not thread-safe"), 1, (f"noted. {ONE_THREAD}",), False),
        (ValueError("not thread-safe"), 7, (), False),
        (ValueError("not thread-safe"), 8, (), False),
        (ValueError("a thread failed"), 1, (), False),
        (ValueError("the same threads"), 1, (), False),
        (ValueError(), 1, (), False),
    ],
)
def test_an_error_about_threads_has_a_note(error, thread_id, noted, is_noted):
    """Unless the hooks ran on one thread, or on the loop's, or there is one already."""
    notes = ModelNotes("m_0")
    notes.thread_id = 7
    execution, found = executing(thread_id, noted)
    notes.note_thread(execution, error, 8)

    assert [*noted, *([ON_ANOTHER] if is_noted else [])] == found


class Local(threading.local):
    """A thread-local of the model's own class."""


def test_what_is_bound_to_a_thread_is_found_by_its_kind():
    """Attributes of the model come before globals of its module."""
    loop, nothing = asyncio.new_event_loop(), SimpleNamespace()
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(sqlite3.connect, ":memory:").result()
        shared, own = (
            sqlite3.connect(":memory:", check_same_thread=False),
            sqlite3.connect(":memory:"),
        )
        closed = sqlite3.connect(":memory:")
        closed.close()
        values = [Local(), loop, theirs, shared, own, closed, 1, threading.local]
        found = [
            bound_to_thread(SimpleNamespace(x=each), nothing).removeprefix("self.x ")
            for each in values
        ]
        pool.submit(theirs.close).result()
    loop.close()
    shared.close()
    own.close()

    bound = ["(threading.local)", "(an event loop)", "(sqlite3.Connection)"]
    assert [*bound, "", "", "", "", ""] == found
    module = SimpleNamespace(y=Local())
    assert "y (threading.local)" == bound_to_thread(nothing, module)
    assert "self.x (an" in bound_to_thread(SimpleNamespace(x=loop), module)
    assert "" == bound_to_thread(Slotted(), nothing)
