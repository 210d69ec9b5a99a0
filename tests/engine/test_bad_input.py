"""Bad input gets a clear answer, and nothing is lost."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, TRIPLE, cell

from blsnb.errors import InferenceError, ModelLoadError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1, 2], np.float32)}


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file of a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def state(server: Server) -> tuple[object, ...]:
    """Return all state that a failed change must not change."""
    return (
        server.index(),
        server.config("good"),
        hashes(parts_of(server).repository.private_root),
        server.infer("good", X)["Y"].tolist(),
        server.statistics("good")["model_stats"][0]["version"],
    )


BAD_CELLS = {
    "syntax error": ("class TritonPythonModel:\n    def execute(self\n", "SyntaxError"),
    "no class": ("x = 1\n", "has no attribute 'TritonPythonModel'"),
    "failing initialize": (
        cell("pass", methods="def initialize(self, args):\n    1 / 0\n"),
        "ZeroDivisionError: division by zero",
    ),
    "failing constructor": (
        cell("pass", methods="def __init__(self, more): ...\n"),
        "missing 1 required positional argument: 'more'",
    ),
    "failing import": ("import no_such_module\n", "No module named 'no_such_module'"),
    "failing body": ("1 / 0\n", "ZeroDivisionError: division by zero"),
    "exit": (
        cell("pass", methods="def initialize(self, args):\n    raise SystemExit(3)\n"),
        "SystemExit: 3",
    ),
    "keyboard interrupt": (
        cell(
            "pass", methods="def initialize(self, args):\n    raise KeyboardInterrupt\n"
        ),
        "KeyboardInterrupt: <EMPTY MESSAGE>",
    ),
    "bls in initialize": (
        cell(
            "pass",
            methods="def initialize(self, args):\n"
            "    pb_utils.InferenceRequest(\n"
            "        model_name='good', inputs=[], requested_output_names=[]\n"
            "    ).exec()\n",
        ),
        "BLS is only supported during the 'execute' function.",
    ),
    "bad completion": (
        cell(
            "pass",
            methods="@staticmethod\ndef auto_complete_config(config):\n    return 1\n",
        ),
        "must return a valid",
    ),
}


BAD_CONFIGS = {
    "malformed text": ("input {", ""),
    "unknown field": ("no_such_field: 1", "no_such_field"),
    "unknown type": ('input { name: "X" data_type: TYPE_NONE dims: 1 }', "TYPE_NONE"),
    "another name": (f'name: "other"\n{CONFIG}', "other"),
    "no dims": ('input { name: "X" data_type: TYPE_FP32 }', "dims"),
    "no instances": (
        f"{CONFIG}\nversion_policy {{ specific {{ versions: 7 }} }}",
        "version",
    ),
}


@pytest.mark.parametrize("bad", BAD_CELLS)
def test_a_bad_cell_changes_nothing(server, bad):
    """The error has Triton's text; index, configuration, files and responses stay."""
    source, text = BAD_CELLS[bad]
    server.define("good", DOUBLE, config=CONFIG, files={"helper.py": "x = 1"})
    before = state(server)

    with pytest.raises(ModelLoadError) as caught:
        server.define("good", source, config=CONFIG, files={"helper.py": "x = 2"})

    assert text in str(caught.value)
    assert before == state(server)


@pytest.mark.parametrize("bad", BAD_CONFIGS)
def test_a_bad_configuration_changes_nothing(server, bad):
    """It may be unreadable or invalid."""
    config, text = BAD_CONFIGS[bad]
    server.define("good", DOUBLE, config=CONFIG)
    before = state(server)

    with pytest.raises(ModelLoadError) as caught:
        server.define("good", TRIPLE, config=config)

    assert text in str(caught.value)
    assert before == state(server)


@pytest.mark.parametrize("bad", BAD_CELLS)
def test_a_bad_new_model_leaves_nothing(server, bad):
    """An unknown name stays unknown."""
    server.define("good", DOUBLE, config=CONFIG)
    before = state(server)

    with pytest.raises(ModelLoadError):
        server.define("fresh", BAD_CELLS[bad][0], config=CONFIG)

    assert before == state(server)
    with pytest.raises(InferenceError) as caught:
        server.infer("fresh", X)
    assert "Request for unknown model: 'fresh' is not found" == caught.value.message


def bad_requests() -> dict[str, tuple[dict[str, object], str]]:
    """Return invalid requests with a part of Triton's text."""
    fine = X["X"]
    return {
        "dtype": ({"X": fine.astype(np.float64)}, "data-type is 'FP64'"),
        "shape": ({"X": fine.reshape(1, 2)}, "unexpected shape for input 'X'"),
        "name": ({"Q": fine}, "unexpected inference input 'Q'"),
        "none": ({}, "expected 1 inputs but got 0"),
    }


@pytest.mark.parametrize("bad", bad_requests())
def test_a_bad_request_changes_nothing(server, bad):
    """It is refused with Triton's text before a model receives it."""
    inputs, text = bad_requests()[bad]
    server.define("good", DOUBLE, config=CONFIG)
    before = state(server)

    with pytest.raises(InferenceError) as caught:
        server.infer("good", inputs)

    assert text in caught.value.message
    assert "INVALID_ARG" == caught.value.code
    assert before == state(server)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise ValueError('boom')", "ValueError: boom"),
        ("return []", "do not match the number of InferenceRequest objects"),
        ("return [reply(x_of(request))] * 2", "InferenceResponse(s) size is:2"),
        (
            "return ()",
            "Expected a list in the execute return, found type '<class 'tuple'>'",
        ),
        ("return [1]", "Expected an 'InferenceResponse' object"),
        ("return None", "Triton would wait here forever"),
        ("exit(4)", "SystemExit: 4"),
        ('return [reply(answer_of(ask("failing", request).exec()))]', "would wait"),
        ('answer_of(ask("nobody", request).exec())', "'nobody' is not"),
    ],
)
def test_a_failing_execute_changes_nothing(server, body, text):
    """Server and other models are not affected."""
    server.define("good", DOUBLE, config=CONFIG)
    server.define("failing", cell(body), config=CONFIG)
    before = state(server)

    for _ in range(2):
        with pytest.raises(InferenceError) as caught:
            server.infer("failing", X)
        assert text in caught.value.message

    assert caught.value.run is not None
    assert before == state(server)
