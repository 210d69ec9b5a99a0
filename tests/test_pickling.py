"""What goes to another process, as its pickle, and what says that it does not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

from blsnb import InferenceError, Run, Server, load_run
from blsnb.errors import BlsnbError

X = {"X": np.array([1, 2], np.float32)}


def there(value: Any) -> Any:
    """Return what another process would have of a value."""
    return pickle.loads(pickle.dumps(value))


def errors(kind: type[BlsnbError] = BlsnbError) -> Iterator[type[BlsnbError]]:
    """Yield a class and all below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from errors(below)


@pytest.fixture
def run(server: Server) -> Run:
    server.define("double", DOUBLE, config=CONFIG)
    return server.infer("double", X)


@pytest.mark.parametrize("kind", sorted(errors(), key=lambda kind: kind.__name__))
def test_an_error_arrives_as_it_was(kind):
    """Else a pool of processes would break where its work fails."""
    error = kind("no")
    error.advice = "do it so"  # type: ignore[attr-defined]

    arrived = there(error)
    assert (kind, str(error), "do it so") == (
        type(arrived),
        str(arrived),
        arrived.advice,
    )


def test_the_error_of_a_request_arrives_without_its_run(server):
    """With Triton's text and code, and the advice."""
    server.define("double", DOUBLE, config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("double", {"x": [1]})

    error, arrived = caught.value, there(caught.value)
    assert (str(error), error.code, None) == (str(arrived), arrived.code, arrived.run)
    assert error.run is not None


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_server_stays_where_it_is(use, server):
    """And says what to do instead."""
    with pytest.raises(TypeError, match="in each process"):
        use(server)


@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_run_stays_with_its_server(use, run):
    """It names what goes: its outputs, or a file."""
    with pytest.raises(TypeError, match="outputs can be, and"):
        use(run)
    assert [2, 4] == there(run.outputs)["Y"].tolist()


def test_a_run_that_was_read_from_a_file_arrives(run, tmp_path):
    """It belongs to no server."""
    read = load_run(run.save(tmp_path / "x.blsrun"))

    assert [2, 4] == there(read)["Y"].tolist()
