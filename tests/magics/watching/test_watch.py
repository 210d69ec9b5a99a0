"""Specification of %triton watch."""

from __future__ import annotations

import re
import stat
import urllib.request
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from spans import GOLDEN, JSON, message, request

from blsnb.magics.watching import watch
from blsnb.watch.watch import Watch, server_flags


@pytest.fixture
def shell(notebook):
    """A notebook that stops receiving."""
    yield notebook
    notebook.run("%triton watch --stop")


def send(url: str, *numbers: int) -> None:
    body = message(*[span for n in numbers for span in request(n)])
    headers = {"Content-Type": JSON}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
        assert 200 == answer.status


def test_the_flags_of_the_server_are_printed(shell):
    """And the value is the watch, whose display is the list."""
    ran = shell.run("%triton watch --port 0 --model m")
    url = re.search(r"spans at (\S+)", ran.stdout)[1]
    assert [
        f"Receiving OpenTelemetry spans at {url}",
        "Start the server with:",
        *(f"  {flag}" for flag in server_flags(url)),
        "A server sends no errors, no tensors and no rejected requests, and only those "
        "BLS requests that a model makes with trace=request.trace().",
        "In a container it needs --network host; otherwise listen on an address that "
        "it can reach: --listen ADDRESS",
    ] == ran.stdout.splitlines()
    assert isinstance(ran.value, Watch)

    send(url, 1, 2)
    assert ["m", "m"] == [each.model for each in ran.value.requests]
    assert ["m", "m"] == [run.model_name for run in ran.value.runs]


def test_a_saved_notebook_has_the_rows_of_the_live_list_as_text(shell, monkeypatch):
    """A page with a kernel shows the list beside it; other readers have the text."""
    ran = shell.run("%triton watch --port 0")
    send(re.search(r"spans at (\S+)", ran.stdout)[1], 1)
    monkeypatch.setattr(watch, "has_page", lambda shell: True)
    shown, page = shell.run("%triton watch").outputs
    monkeypatch.setattr(watch, "has_page", lambda shell: False)
    [program] = shell.run("%triton watch").outputs

    assert "" == shown["text/plain"]
    assert "<script>" in shown["text/html"]
    for kept in (page, program):
        assert {"text/html", "text/plain"} == set(kept)
        assert "1 request" in kept["text/html"]
        assert re.search(r"As it was on \S+ at \S+\.$", kept["text/plain"])
    assert "<script>" in page["text/html"]
    assert "<script>" not in program["text/html"]


def test_a_second_line_shows_the_same_watch(shell):
    """With another filter; nothing is started."""
    first = shell.run("%triton watch --port 0").value
    again = shell.run("%triton watch --model x").value
    assert first is again
    assert "x" == first.filter.model


def test_another_port_needs_a_stop(shell):
    """The text has the address in use."""
    receiver = shell.run("%triton watch --port 0").value.receiver
    error = shell.run("%triton watch --port 0").error
    assert (
        f"%triton watch: {receiver!r} receives already; %triton watch --stop ends that"
    ) == str(error)


def test_stopping_releases_the_port(shell):
    """What was received stays readable."""
    watch = shell.run("%triton watch --port 0").value
    assert "Stopped.\n" == shell.run("%triton watch --stop").stdout
    assert watch.closed
    assert "Nothing is received.\n" == shell.run("%triton watch --stop").stdout


def test_a_token_is_not_in_the_notebook(shell):
    """The output shows a placeholder, and names a private file with the token."""
    ran = shell.run("%triton watch --port 0 --listen 0.0.0.0")
    token = ran.value.receiver.token
    assert len(token) >= 32
    url = ran.value.receiver.url("TOKEN")
    assert url.endswith("/TOKEN/v1/traces")
    path = Path(ran.stdout.split()[-1])
    assert [
        f"Receiving OpenTelemetry spans at {url}",
        "If the address is 0.0.0.0, replace it by one of this machine that the server "
        "can reach.",
        "TOKEN stands for the random token, which must not be saved in a notebook. The "
        f"same lines with the token are in a file that only you can read: {path}",
    ] == [ran.stdout.splitlines()[at] for at in (0, -2, -1)]
    assert token not in ran.stdout + str(ran.outputs) + repr(ran.value) + str(ran.value)
    lines = ran.stdout.splitlines(keepends=True)[:-1]
    assert "".join(lines).replace("TOKEN", token) == path.read_text()
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    shell.run("%triton watch --stop")
    assert not path.exists()


def test_a_file_is_a_watch(shell):
    """Of the requests in it."""
    watch = shell.run(f"%triton watch {GOLDEN}").value
    assert 8 == len(watch.requests)
    assert repr(watch).endswith("35 spans received>")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("missing.json", "'missing.json' cannot be read: No such file or directory"),
        ("--rate 5", "--rate, --level and --count need --server URL"),
        ("--level OFF", "--rate, --level and --count need --server URL"),
        ("--count 0", "--rate, --level and --count need --server URL"),
        (
            "--server ftp://x",
            "url='ftp://x' is not valid; expected the address of a server's HTTP port, "
            "such as 'http://127.0.0.1:8000'",
        ),
    ],
)
def test_what_cannot_be_watched_is_an_error(shell, line, reason):
    """In one line, without a traceback."""
    error = shell.run(f"%triton watch {line}").error

    assert (UsageError, f"%triton watch: {reason}") == (type(error), str(error))
