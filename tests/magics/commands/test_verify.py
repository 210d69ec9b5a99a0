"""Specification of %triton verify."""

from __future__ import annotations

import pytest
from conformance.reference import real_environment
from IPython.core.error import UsageError

from blsnb.errors import RepositoryError, TritonServerError
from blsnb.magics.commands.verify import verify_flags
from blsnb.magics.flags import Flags

from ..models import DOUBLE


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE.replace("--input", "--quiet --input"))
    return notebook


@pytest.mark.triton_server
def test_the_responses_of_both_servers_are_shown(double, tmp_path, monkeypatch):
    """The output has progress, then picture, table and both runs, connected."""
    connected = []
    monkeypatch.setattr("blsnb.magics.display.note_run", connected.append)
    real_environment()
    (tmp_path / "cases.json").write_text('[{"name": "five", "inputs": {"X": [5]}}]')
    ran = double.run(
        f"%triton verify double --cases {tmp_path}/cases.json X=[1.0] * 3 --rtol 1e-6"
    )

    assert "2 cases, no difference" in repr(ran.value)
    assert ["case 1", "five"] == [case.name for case in ran.value.cases]
    [shown] = ran.outputs
    assert shown["text/plain"] == str(ran.value)
    for text in ("data:image/png;base64,", "five", "<table>", "blsnb-run"):
        assert text in shown["text/html"]
    assert [ran.value.run, ran.value.real_run] == connected
    steps = [line[5:] for line in ran.stdout.splitlines()]
    assert "start the real server with double" in steps
    assert "five of 2, on the real server" in steps


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "usage: %triton verify NAME INPUT=EXPRESSION"),
        ("X=[1.0]", "usage: %triton verify NAME INPUT=EXPRESSION"),
        ("double X=[1.0] --atol much", "invalid float value: 'much'"),
        ("double X=[1.0] --target http://x", "target='http://x' is not valid"),
        ("double X=[1.0] --cases /no/cases.json", "/no/cases.json: No such file"),
        ("double X=[1.0] --instal", "%triton verify: unrecognized arguments: --instal"),
    ],
)
def test_invalid_arguments_are_named(double, line, text):
    """Invalid arguments are named, and no server is started."""
    ran = double.run(f"%triton verify {line}")

    assert isinstance(ran.error, UsageError)
    assert text in f"{ran.stderr}{ran.error}"


def test_what_cannot_be_compared_is_an_error(double):
    """A missing model and an unreachable server are errors."""
    assert isinstance(double.run("%triton verify none X=[1]").error, RepositoryError)
    ran = double.run("%triton verify double X=[1.0] --target grpc://127.0.0.1:9")

    assert isinstance(ran.error, TritonServerError)
    assert "grpc://127.0.0.1:9 does not respond" in str(ran.error)


def test_help_is_printed(double):
    """The help has each option with its default, and the form of a cases file."""
    for line in ("%triton verify --help", "%triton verify double --help"):
        printed = double.run(line).stdout
        assert "--target TARGET" in printed
        assert '{"inputs": {"X": [1, 2], "IMAGE"' in printed


@pytest.mark.parametrize(
    ("text", "options", "rest"),
    [
        ("m X=[1] --install Y=2", ["--install"], "m X=[1]  Y=2"),
        ("--atol 1 m X=1 - 2", ["--atol 1"], " m X=1 - 2"),
        ("m --cases 'a b.json' X=1", ["--cases 'a b.json'"], "m  X=1"),
        ("m X='--installed' --atol", ["--atol"], "m X='--installed' "),
    ],
)
def test_options_stand_anywhere_among_inputs(text, options, rest):
    """An option without a value does not take the next word."""
    flags: Flags = verify_flags()

    assert (options, rest) == flags.split_options(text)
