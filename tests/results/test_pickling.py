"""What goes to another process, as its pickle, and what says that it does not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cells import CONFIG, DOUBLE
from whole_text import whole

from blsnb import InferenceError, Run, Server, load_run
from blsnb.errors import BlsnbError

X = {"X": np.array([1, 2], np.float32)}


def there(value: Any) -> Any:
    """Return a value as another process would receive it."""
    return pickle.loads(pickle.dumps(value))


def errors(kind: type[BlsnbError] = BlsnbError) -> Iterator[type[BlsnbError]]:
    """Yield a class and all its subclasses."""
    yield kind
    for below in kind.__subclasses__():
        yield from errors(below)


@pytest.fixture
def run(server: Server) -> Run:
    server.define("double", DOUBLE, config=CONFIG)
    return server.infer("double", X)


@pytest.mark.parametrize("kind", sorted(errors(), key=lambda kind: kind.__name__))
def test_an_error_survives_pickling(kind):
    """Otherwise a process pool would break when its work fails."""
    error = kind("no")
    error.advice = "do it so"  # type: ignore[attr-defined]

    arrived = there(error)
    assert (kind, str(error), "do it so") == (
        type(arrived),
        str(arrived),
        arrived.advice,
    )


def test_the_error_of_a_request_arrives_without_its_run(server):
    """It has Triton's text and code, and the advice."""
    server.define("double", DOUBLE, config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("double", {"x": [1]})

    error, arrived = caught.value, there(caught.value)
    assert (str(error), error.code, None) == (str(arrived), arrived.code, arrived.run)
    assert error.run is not None


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_server_cannot_be_pickled(use, server):
    """The error says what to do instead."""
    text = (
        "a server is neither pickled nor copied: it has threads, models in memory and "
        "a folder; make one with blsnb.Server() in each process"
    )
    with pytest.raises(TypeError, match=whole(text)):
        use(server)


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_run_cannot_be_pickled(use, run):
    """The error names outputs and files as alternatives."""
    text = (
        "a run is neither pickled nor copied: it belongs to its server. run.outputs "
        "can be, and run.save('x.blsrun') keeps all of it for "
        "blsnb.load_run('x.blsrun')"
    )
    with pytest.raises(TypeError, match=whole(text)):
        use(run)
    assert [2, 4] == there(run.outputs)["Y"].tolist()


def test_a_run_that_was_read_from_a_file_arrives(run, tmp_path):
    """It belongs to no server."""
    read = load_run(run.save(tmp_path / "x.blsrun"))

    assert [2, 4] == there(read)["Y"].tolist()
