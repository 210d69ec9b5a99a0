"""A model that changes what all share says so on its card."""

from __future__ import annotations

import locale
import os
import random
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from cells import CONFIG, cell, instances

from blsnb.engine.instance.shared_state import (
    ProcessState,
    changes,
    note_of_changes,
    snapshot,
)

X = {"X": [1.0]}
BODY = "return [reply(x_of(request))]"
CHANGES = {
    "the environment": ("os.environ['BLSNB_TEST'] = '1'", "os.environ (BLSNB_TEST)"),
    "the folder": ("os.chdir('/')", "the current folder"),
    "the locale": ("locale.setlocale(locale.LC_ALL, 'C.UTF-8')", "the locale"),
    "random": ("random.seed(1)", "the state of random"),
    "numpy": ("np.random.seed(1)", "the state of numpy.random"),
    "signals": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "signal handlers"),
    "recursion": ("sys.setrecursionlimit(1234)", "the recursion limit"),
}
IMPORTS = "import locale, os, random, signal, sys\n"


@pytest.fixture(autouse=True)
def state():
    """Restore the state that models change."""
    folder, language = os.getcwd(), locale.setlocale(locale.LC_ALL)
    states = random.getstate(), np.random.get_state()
    handler, limit = signal.getsignal(signal.SIGTERM), sys.getrecursionlimit()
    locale.setlocale(locale.LC_ALL, "C")
    yield
    os.environ.pop("BLSNB_TEST", None)
    os.chdir(folder)
    locale.setlocale(locale.LC_ALL, language)
    random.setstate(states[0])
    np.random.set_state(states[1])
    signal.signal(signal.SIGTERM, handler)
    sys.setrecursionlimit(limit)


def in_initialize(line):
    """Return a model that runs a line in `initialize`."""
    return cell(BODY, methods=f"\ndef initialize(self, args):\n    {line}\n\n")


@pytest.mark.parametrize(("line", "what"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("where", ["import", "initialize"])
def test_a_change_is_on_the_card(server, line, what, where):
    """Changes by the file and by a hook are listed; a run has no note."""
    source = IMPORTS + in_initialize(line)
    if where == "import":
        source = f"{IMPORTS}import numpy as np\n{line}\n{cell(BODY)}"
    (finding,) = server.define("m", source, config=CONFIG).findings
    assert finding.startswith(f"Loading m_0 changed {what}. Here that is shared")
    assert [] == server.infer("m", X).notes


def test_many_changes_are_one_finding(server):
    """Of many variables the first names are listed."""
    line = "os.environ.update({f'BLSNB_{n}': '' for n in range(9)}); random.seed(1)"
    defined = server.define("m", IMPORTS + in_initialize(line), config=CONFIG)
    for n in range(9):
        del os.environ[f"BLSNB_{n}"]

    (note,) = defined.findings
    names = ", ".join(f"BLSNB_{n}" for n in range(5))
    assert f"os.environ ({names} and 4 more); the state of random. " in note


def test_a_model_that_changes_nothing_has_no_finding(server):
    """Generators of the model's own do not count."""
    line = "self.random = np.random.default_rng(1), random.Random(1)"
    source = IMPORTS + in_initialize(line)

    assert () == server.define("m", source, config=instances(2)).findings


BEFORE = ProcessState({"A": "1"}, "/", "C", 1, 2, (3, 4), 1000, 8)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, []),
        ({"environment": {"A": "2"}}, ["os.environ (A)"]),
        ({"environment": {"B": "1"}}, ["os.environ (A, B)"]),
        (
            {"environment": {"A": "1"} | dict.fromkeys("BCDEF", "1")},
            ["os.environ (B, C, D, E, F)"],
        ),
        (
            {"environment": {"A": "1"} | dict.fromkeys("BCDEFG", "1")},
            ["os.environ (B, C, D, E, F and 1 more)"],
        ),
        ({"folder": "/x"}, ["the current folder"]),
        ({"locale": "x"}, ["the locale"]),
        ({"random": 5}, ["the state of random"]),
        ({"numpy_random": None}, ["the state of numpy.random"]),
        ({"signal_handlers": (3, 5)}, ["signal handlers"]),
        ({"recursion_limit": 1}, ["the recursion limit"]),
        ({"torch_threads": 1}, ["torch's number of threads"]),
    ],
)
def test_each_change_is_described(changed, words):
    """At most five variables are listed."""
    after = BEFORE._replace(**changed)

    assert words == changes(BEFORE, after)
    note = note_of_changes("m_0", BEFORE, after)
    assert (
        f"Loading m_0 changed {words[0]}. Here that is shared by all models and the "
        "notebook; on Triton each instance has its own."
        if words
        else ""
    ) == note


def test_several_changes_are_one_sentence():
    """What was imported since then is no change."""
    before = BEFORE._replace(torch_threads=None, numpy_random=None)
    after = BEFORE._replace(environment={}, folder="/x", recursion_limit=1)

    found = ["os.environ (A)", "the current folder", "the recursion limit"]
    assert found == changes(before, after)
    assert f"changed {'; '.join(found)}. " in note_of_changes("m_0", before, after)


@pytest.mark.parametrize(
    ("torch", "threads"),
    [(None, None), (SimpleNamespace(get_num_threads=lambda: 8), 8)],
    ids=["not imported", "imported"],
)
def test_a_snapshot_has_the_threads_of_an_imported_torch(monkeypatch, torch, threads):
    """It does not import torch."""
    monkeypatch.setitem(sys.modules, "torch", torch)

    assert threads == snapshot().torch_threads


def test_a_snapshot_in_a_removed_folder_has_no_folder(tmp_path):
    """The folder of the process may be gone."""
    os.chdir(tmp_path)
    tmp_path.rmdir()

    assert "" == snapshot().folder


def test_a_snapshot_has_the_present_state():
    """The state of NumPy is comparable."""
    state = snapshot()

    assert dict(os.environ) == state.environment
    assert os.getcwd() == state.folder
    assert locale.setlocale(locale.LC_ALL) == state.locale
    assert random.getstate() == state.random
    assert sys.getrecursionlimit() == state.recursion_limit
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert handlers == state.signal_handlers
    name, keys, *rest = np.random.get_state()
    assert (name, keys.tobytes(), *rest) == state.numpy_random
    assert state == snapshot()
