"""``blsnb watch``: requests of a real server in a terminal."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from spans import GOLDEN, JSON, message, request

import blsnb as package

SOURCES = Path(package.__file__).parents[1]


@pytest.fixture
def watching() -> Iterator[subprocess.Popen[str]]:
    """The command, receiving on a free port."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-m", "blsnb", "watch", "--port", "0", "--model", "m"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def test_a_file_is_listed(blsnb):
    """Newest first, with a summary above."""
    ended = blsnb("watch", GOLDEN)
    assert (0, "") == (ended.status, ended.stderr)
    title, _, head, *rows = ended.stdout.splitlines()
    what = "8 requests, slowest 183 ms (pipe). 35 spans received."
    assert f"triton_2.51.0.jsonl: {what}" == title
    assert "at" == head.split()[0]
    assert ["dec", "ens", "fail"] == [row.split()[1] for row in rows[:3]]


def test_of_a_long_file_the_newest_requests_are_listed(blsnb, tmp_path):
    """The number of the others is the last line."""
    path = tmp_path / "long.jsonl"
    lines = [message(*request(number)) for number in range(1, 102)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    ended = blsnb("watch", path)

    _, _, _, *rows, last = ended.stdout.splitlines()
    assert (100, "… 1 more") == (len(rows), last)
    path.write_bytes(b"\n".join(lines[:100]) + b"\n")
    assert "more" not in blsnb("watch", path).stdout


def test_damaged_lines_of_a_file_are_counted(blsnb, tmp_path):
    """Half a request looks like a whole one without them."""
    path = tmp_path / "cut.jsonl"
    path.write_bytes(message(*request(1)) + b'\n{"resourceSpans": [{"scope\n')
    ended = blsnb("watch", path)
    title = ended.stdout.splitlines()[0]
    what = "1 request, slowest 10 ns (m). 2 spans received, 1 line skipped."
    assert f"cut.jsonl: {what}" == title


def test_a_filter_selects_requests(blsnb):
    """By model, id and duration."""
    ended = blsnb("watch", GOLDEN, "--model", "EN", "--slower-than", "5")
    assert ["ens"] == [line.split()[1] for line in ended.stdout.splitlines()[3:]]
    assert "1 request" in blsnb("watch", GOLDEN, "--id", "bad").stdout


def test_one_request_is_a_tree(blsnb):
    """It has a line for each call."""
    ended = blsnb("watch", GOLDEN, "--run", "e1")
    assert ended.stdout.startswith("ens · request e1: 7.74 ms wall, 5 calls")
    missing = blsnb("watch", GOLDEN, "--run", "nix")
    assert (2, True) == (missing.status, "no request with id 'nix'" in missing.stderr)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["missing.json"], "'missing.json' cannot be read: No such file"),
        (["--run", "e1"], "--run needs FILE"),
        (["--rate", "5"], "--rate, --level and --count need --server URL"),
        (["--server", "ftp://x"], "is not valid; expected the address"),
        (["--server", "127.0.0.1:1", "--rate", "5"], "does not respond"),
        (["--port", "x"], "invalid int value"),
    ],
)
def test_what_cannot_be_watched_is_an_error(blsnb, words, text):
    """One line says why."""
    ended = blsnb("watch", *words)
    assert 2 == ended.status
    assert text in ended.stderr


def test_requests_are_printed_as_they_end(watching):
    """The flags of the server come first; Ctrl-C ends with a summary."""
    assert watching.stdout is not None
    url = watching.stdout.readline().split()[-1]
    lines = list(iter(watching.stdout.readline, "\n"))
    assert f"  --trace-config=opentelemetry,url={url}\n" in lines
    assert "  --trace-config=opentelemetry,bsp_schedule_delay=500\n" in lines

    port = int(re.search(r":(\d+)/", url)[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = message(*request(1, name="m1"), *request(2, name="other"))
    connection.request("POST", "/v1/traces", body, {"Content-Type": JSON})
    assert 200 == connection.getresponse().status
    connection.close()
    assert "m1" == watching.stdout.readline().split()[1]

    watching.send_signal(signal.SIGINT)
    rest, _ = watching.communicate(timeout=60)
    assert "1 request" in rest
    assert "4 spans received" in rest
    assert 0 == watching.returncode
