"""Every test has a docstring, checks something, and does not sleep."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sources
from asserting import every, some
from sources import TESTS, holds_elements

PAUSES = {
    "conformance/counting.py": "statistics may change once more after they look right",
    "conformance/scripted.py": "the helper itself",
    "conformance/test_dynamic_batching.py": "a timeout is longer than a request's age",
    "conformance/test_instances.py": "the time that passes is what is counted",
    "conformance/test_no_inputs.py": "a refused request must not begin a batch",
    "conformance/test_sequences.py": "a sequence ends by silence on Triton's clock",
    "conformance/timed.py": "requests are sent at given times",
    "engine/test_interrupt_elsewhere.py": "Ctrl-C comes at any time",
    "engine/threads/test_waiter.py": "a wait ends with its time",
    "interrupts.py": "Ctrl-C comes shortly after; a busy machine's time is no delay",
    "properties/test_churn.py": "models change at any time",
    "properties/test_crowd.py": "models change at any time",
    "waiting.py": "between two looks at a condition",
}
"""Files that may pause, and why there is no condition to wait for."""

SENTENCE = re.compile(r"(?!.*(?:\n\n|\.\s+[A-Z])).+\.", re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    """Keep the nodes of parsed files as long as tests of this file need them.

    Each garbage collection of the process would take a second.
    """
    gc.disable()
    yield
    sources.forget()
    gc.enable()


def parsed(text: str) -> sources.Function:
    """Return the first function of a source."""
    (function,) = ast.parse(text).body
    assert isinstance(function, sources.Function)
    return function


def all_tests() -> list[tuple[Path, sources.Function]]:
    """Return every test with its file."""
    return [
        (path.relative_to(TESTS), function)
        for path in sources.files()
        for function in sources.functions(path)
        if function.name.startswith("test_")
    ]


def test_every_test_has_a_docstring_of_one_sentence():
    """It is the specification; reasons are comments."""
    assert [] == [
        f"{path}: {test.name}"
        for path, test in some(all_tests())
        if not SENTENCE.fullmatch(ast.get_docstring(test) or "")
    ]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("It waits.", True),
        ("It waits: for\n1.5 seconds.", True),
        ("It waits", False),
        ("It waits. The client does not.", False),
        ("It waits.\n\nFor a second.", False),
        ("", False),
    ],
)
def test_a_second_sentence_is_found(text, is_one):
    """Also in a paragraph of its own; a number has no end of a sentence."""
    assert is_one == bool(SENTENCE.fullmatch(text))


def test_docstrings_and_comments_have_no_obscure_phrase():
    """Name the caller or the client, and write "no" or "invalid", "forever", "else"."""
    package = sorted((TESTS.parent / "blsnb").rglob("*.py"))
    assert [] == [
        f"{path.relative_to(TESTS.parent)}:{found}"
        for path in some([*package, *sources.files()])
        for found in sources.obscure_in(path)
    ]


def test_possessive_groups_are_those_that_each_python_matches_alike():
    """Releases before 3.11.5 match others wrongly: see `repetitions.POSSESSIVE`."""
    found = [
        f"{path.relative_to(TESTS.parent)}: {line.strip()}"
        for path in some(sorted((TESTS.parent / "blsnb").rglob("*.py")))
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"(?<!\\)\)[*+?]\+(?!\+)|(?<!\\)\)\+\+", line)
    ]

    assert [] == found


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("A mode is none.", ["is none"]),
        ("The caller\n    waits for\n    ever.", ["for ever"]),
        ("The value is None; the client is notified.", []),
    ],
)
def test_an_obscure_phrase_is_found(text, phrases):
    """Lines may break within it."""
    assert phrases == sources.obscure(text)


def test_assertions_have_the_expected_value_first():
    """A failure reads the same everywhere: `assert expected == actual`."""
    assert [] == [
        f"{path.relative_to(TESTS)}:{line}"
        for path in some([*sources.files()])
        for line in sources.swapped(path)
    ]


@pytest.mark.parametrize(
    ("line", "is_swapped"),
    [
        ("assert found == 1", True),
        ("assert found == [-1, {'a': ()}]", True),
        ("assert found and found == 'a'", True),
        ("assert 1 == found", False),
        ("assert found == other", False),
        ("assert found == [other]", False),
        ("assert every(found) or found == 1", False),
    ],
)
def test_an_expected_value_at_the_end_is_found(line, is_swapped, tmp_path):
    """An expected value is found if it is a literal."""
    path = tmp_path / "test_it.py"
    path.write_text(line)

    assert is_swapped == bool([*sources.swapped(path)])


def test_no_test_asserts_over_an_empty_collection():
    """A check of every element uses `every` or `some`."""
    assert [] == [
        f"{path}:{node.lineno}: {test.name}"
        for path, test in some(all_tests())
        for node in sources.vacuous(test)
    ]


def test_frames_are_hidden_from_tracebacks_by_true():
    """IPython and pytest would show the frames of any other value."""
    package = TESTS.parent / "blsnb"
    hides = re.compile("__tracebackhide__ = (.*)")
    values = [hides.findall(path.read_text("utf-8")) for path in package.rglob("*.py")]

    assert {"True"} == {each for found in values for each in found}


def test_no_test_pauses():
    """Tests and their helpers wait for conditions; `PAUSES` lists the exceptions."""
    found = dict(sources.pausing())

    assert {} == {file: call for file, call in found.items() if file not in PAUSES}
    assert set() == PAUSES.keys() - found.keys()


@pytest.mark.parametrize(
    "line",
    [
        "assert all(x for x in found)",
        "assert all([x for x in NUMBERS if x])",
        "assert all(map(bool, found))",
        "for x in found:\n  assert x",
        "for x in found.items():\n  assert x",
    ],
)
def test_an_assertion_over_a_possibly_empty_collection_is_found(line):
    """Assertions in loops and in `all` are found."""
    assert 1 == len(list(sources.vacuous(parsed(f"def test():\n {line}"))))


@pytest.mark.parametrize(
    "line",
    [
        "assert every(x for x in found)",
        "assert all(x in found for x in NUMBERS)",
        "assert all((a, b))",
        "for x in some(found):\n  assert x\n  for y in x:\n   assert y",
        "for x in parameter:\n  assert x",
        "for x in found:\n  x.close()",
    ],
)
def test_an_assertion_over_elements_is_accepted(line):
    """The collection is a display, a constant, a parameter, or checked."""
    assert [] == list(sources.vacuous(parsed(f"def test(parameter):\n {line}")))


@pytest.mark.parametrize(
    ("call", "is_pause"),
    [
        ("time.sleep(0.1)", True),
        ("asyncio.sleep(1)", True),
        ("asyncio.sleep(0)", False),
        ("page.wait_for_timeout(100)", True),
        ("threading.Event().wait(5)", True),
        ("over.wait(TICK_S)", True),
        ("over.wait(timeout=0.01)", True),
        ("over.wait(60)", False),
        ("over.wait(None)", False),
        ("over.wait('key', 0.01)", False),
        ("process.wait()", False),
        ("pause(1)", True),
    ],
)
def test_every_kind_of_pause_is_found(call, is_pause):
    """A wait for an event is not a pause if its limit is long enough."""
    node = ast.parse(call, mode="eval").body

    assert is_pause == sources.is_pause(node, {"TICK_S": 0.01})


def test_every_fails_for_an_empty_collection():
    """`every` and `some` fail for an empty collection."""
    assert every([1, True])
    assert not every([1, 0])
    with pytest.raises(AssertionError, match="nothing to check"):
        every([])


def test_a_collection_may_be_empty_unless_its_source_shows_elements():
    """A list display has elements; a variable may have none."""
    assert holds_elements(ast.parse("[1]", mode="eval").body, set())
    assert not holds_elements(ast.parse("[]", mode="eval").body, set())
    assert not holds_elements(ast.parse("found", mode="eval").body, set())
