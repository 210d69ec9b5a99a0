"""What a model raises is its own error, and escapes from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from raising import CONFIG, EXECUTE, HEAD, POINTS, raising

from blsnb.errors import InferenceError, ModelLoadError

X = {"X": np.array([1, 2], np.float32)}
MISSING = (
    "look-up in the class",
    "any look-up in the class",
    "look-up in the object",
    "descriptor",
    "property initialize",
    "property finalize",
    "finalize",
)
"""Places where Triton takes what it looks for as missing, or passes errors over."""
OF_REQUESTS = ("execute", "generator", "text of an exception", "returned list")
NO_EXECUTE = "does not implement `execute` method"
ERRORS = {
    "SystemExit": "SystemExit(3)",
    "KeyboardInterrupt": "KeyboardInterrupt('k')",
    "GeneratorExit": "GeneratorExit('g')",
    "ValueError": "ValueError('v')",
}


def outcome(server, point: str, error: str) -> str:
    """Load a model, send a request, unload it; return where it failed."""
    try:
        server.define("raising", raising(point, error), config=CONFIG)
    except ModelLoadError as failure:
        return failure.message
    try:
        return f"answered {server.infer('raising', X)['Y'].tolist()}"
    except InferenceError as failure:
        return failure.message
    finally:
        server.unload("raising")


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("point", POINTS)
def test_what_a_model_raises_anywhere_is_its_own_error(server, point, kind):
    """It is the error of the load or the request, with the exception's text."""
    said = outcome(server, point, ERRORS[kind])

    if point in MISSING:
        assert "answered [1.0, 2.0]" == said
    elif point in ("property execute", "any look-up in the object"):
        assert NO_EXECUTE in said
    else:
        start = "Failed to process" if point in OF_REQUESTS else "load failed"
        assert said.startswith(start)
        assert f"{kind}: " in said or point == "generator"


def test_a_look_up_that_raises_leaves_a_note(server):
    """Triton reports nothing."""
    source = raising("property initialize", "SystemExit(3)")
    server.define("raising", source, config=CONFIG)

    first, second = server.infer("raising", X), server.infer("raising", X)

    [note] = [str(each) for each in first.notes if "initialize" in str(each)]
    assert "is missing to Triton, since looking it up raises SystemExit: 3" in note
    assert not [each for each in second.notes if "initialize" in str(each)]


HOSTILE = {
    "a name of an exception's class": """
        class Meta(type):
            @property
            def __name__(cls):
                raise SystemExit(3)
        raise Meta("Bad", (Exception,), {})()
    """,
    "notes of an exception": """
        class Bad(Exception):
            @property
            def __notes__(self):
                raise SystemExit(3)
        raise Bad("bad")
    """,
    "a text that is no plain string": """
        class Text(str):
            def __bool__(self):
                raise SystemExit(3)
            __format__ = __len__ = __add__ = __bool__
        class Bad(Exception):
            def __str__(self):
                return Text("bad")
        raise Bad
    """,
    "a name that compares itself": """
        class Name(str):
            __hash__ = str.__hash__
            def __eq__(self, other):
                raise SystemExit(3)
        y = pb_utils.get_input_tensor_by_name(requests[0], "X").as_numpy()
        tensor = pb_utils.Tensor(Name("Y"), y)
        return [pb_utils.InferenceResponse([tensor])]
    """,
    "an element of another class": """
        class Other:
            @property
            def __class__(self):
                raise SystemExit(3)
        return [Other()]
    """,
    "a class that cannot be shown": """
        class Meta(type):
            def __repr__(cls):
                raise SystemExit(3)
        return Meta("Other", (), {})()
    """,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_nothing_of_a_model_runs_outside_its_hooks(server, body):
    """Returned and raised objects are examined without calling their methods."""
    source = f"{HEAD}class TritonPythonModel:\n    def execute(self, requests):{body}"
    server.define("hostile", source, config=CONFIG)
    server.define("good", f"{HEAD}class TritonPythonModel:{EXECUTE}", config=CONFIG)

    for _ in range(2):
        try:
            said = server.infer("hostile", X)["Y"].tolist()
        except InferenceError as error:
            said = error.message
        assert [1, 2] == said or "Bad: " in said or "SystemExit: 3" in said

    assert [1, 2] == server.infer("good", X)["Y"].tolist()
