"""``blsnb serve``: repositories on ports of this machine."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from cells import CONFIG, DOUBLE, cell
from waiting import until

ANY = ["--http", "0", "--grpc", "0", "--metrics", "0", "--log-info=false"]
SLOW = """\
import threading


class TritonPythonModel:
    def initialize(self, args):
        print("loading", flush=True)
        threading.Event().wait(60)
"""
LAST = "Ctrl-C ends it.\n"
X = {"inputs": [{"name": "X", "datatype": "FP32", "shape": [2], "data": [1, 2]}]}


def write_model(folder: Path, name: str, source: str = DOUBLE) -> None:
    """Write a model into a repository."""
    (folder / name / "1").mkdir(parents=True)
    text = source.replace("import stage\n", "")
    (folder / name / "1" / "model.py").write_text(text)
    (folder / name / "config.pbtxt").write_text(CONFIG)


@pytest.fixture
def models(tmp_path):
    """Return a repository of two models."""
    write_model(tmp_path / "models", "one")
    write_model(tmp_path / "models", "two")
    return tmp_path / "models"


@contextlib.contextmanager
def serving(*words: object) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run the command until the block ends; yield it and its first lines."""
    command = [sys.executable, "-W", "error", "-m", "blsnb", "serve", *map(str, words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            said = itertools.takewhile(lambda line: line != LAST, process.stdout)
            lines = [line.rstrip() for line in said]
            yield process, lines
        finally:
            process.kill()


def ask(address: str, path: str, body: object = None) -> object:
    """Send an HTTP request and return the response."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"http://{address}{path}", data, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def address_of(name: str, lines: list[str]) -> str:
    """Return the printed address of a protocol."""
    [said] = [line for line in lines if line.startswith(f"{name}: ")]
    return said.removeprefix(f"{name}: ")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_models_are_served_until_a_signal_comes(signum, models, tmp_path):
    """Models and addresses are printed, and nothing remains at the end."""
    write_model(tmp_path / "more", "three")
    with serving(models, tmp_path / "more", *ANY) as (process, lines):
        assert [f"{name} version 1 READY" for name in ("one", "three", "two")] == lines[
            :3
        ]
        answer = ask(address_of("HTTP", lines), "/v2/models/three/infer", X)
        assert [2, 4] == answer["outputs"][0]["data"]
        process.send_signal(signum)
        said, wrong = process.communicate(timeout=60)

    assert (0, "", "") == (process.returncode, said, wrong)


@pytest.mark.parametrize(
    ("signum", "status", "deaf"),
    [
        (signal.SIGINT, 130, False),
        (signal.SIGTERM, 143, False),
        (signal.SIGTERM, 143, True),
    ],
    ids=["Ctrl-C", "SIGTERM", "SIGTERM, started by a script with &"],
)
def test_a_signal_ends_it_also_while_a_model_loads(signum, status, deaf, tmp_path):
    """It ends at once with the signal's status, and nothing remains."""
    write_model(tmp_path / "models", "one", SLOW)
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [
            *(["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if deaf else []),
            *(sys.executable, "-m", "blsnb", "serve", tmp_path / "models", *ANY),
        ],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "loading\n" == process.stdout.readline()
        # CPython does not handle a signal that arrives just before it waits for a lock.
        main = psutil.Process(process.pid)
        assert until(lambda: psutil.STATUS_SLEEPING == main.status())
        process.send_signal(signum)
        said, wrong = process.communicate(timeout=60)

    assert (status, "", "") == (process.returncode, said, wrong)
    assert [] == [*(tmp_path / "temporary").iterdir()]


BUSY = "print('busy', flush=True)\nthreading.Event().wait(60)"
SLOWLY_FINALIZED = "def finalize(self): threading.Event().wait(1.2)\n"


@pytest.mark.parametrize(
    ("source", "is_busy"),
    [(cell(BUSY), True), (cell("return []", methods=SLOWLY_FINALIZED), False)],
    ids=["execute", "finalize"],
)
def test_the_exit_status_is_1_if_models_exceed_the_exit_timeout(
    source, is_busy, tmp_path
):
    """Status and log are Triton's; a process manager sees that requests were lost."""
    write_model(tmp_path / "models", "held", source)
    options = ["--exit-timeout-secs", "1"]
    with serving(tmp_path / "models", *ANY, *options) as (process, lines):
        url = f"http://{address_of('HTTP', lines)}/v2/models/held/infer"
        asked = threading.Thread(target=lost, args=(url,))
        if is_busy:
            asked.start()
            assert "busy\n" == process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, wrong = process.communicate(timeout=60)
        if is_busy:
            asked.join(60)

    assert 1 == process.returncode
    [line] = wrong.splitlines()
    assert line.startswith("E")
    assert line.endswith(
        '"failed to stop server: Internal - Exit timeout expired. Exiting immediately."'
    )


def lost(url: str) -> None:
    """Send a request whose connection the server closes."""
    with pytest.raises((OSError, http.client.HTTPException)):
        urllib.request.urlopen(url, json.dumps(X).encode(), timeout=60)


def test_models_are_loaded_by_name_in_explicit_mode(models):
    """Named models are loaded at startup; the mode's case does not matter."""
    options = ["--model-control-mode", "Explicit", "--load-model", "two"]
    with serving(models, *ANY, *options) as (_, lines):
        assert ["one not loaded", "two version 1 READY"] == lines[:2]
        http = address_of("HTTP", lines)
        ask(http, "/v2/repository/models/one/load", {})
        assert [2, 4] == ask(http, "/v2/models/one/infer", X)["outputs"][0]["data"]


def test_a_model_that_does_not_load_can_be_left_out(models):
    """Its reason is printed; by default nothing is served."""
    write_model(models, "bad", "1/0")
    with serving(models, *ANY, "--keep-going") as (_, lines):
        assert lines[0].startswith("bad version 1 UNAVAILABLE: ")
        assert "one version 1 READY" == lines[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [],
            "the following arguments are required: REPOSITORY (see blsnb serve --help)",
        ),
        (["nowhere"], "'nowhere' is not a folder of models"),
        (
            ["models", "--http", "x"],
            "--http: 'x' is not a port: expected a number",
        ),
        (["models", "--load-model", "one"], "--load-model needs --model-control-mode"),
        (["models", "--model-control-mode", "some"], "argument --model-control-mode: "),
    ],
)
def test_errors_are_one_line(words, said, blsnb, models, monkeypatch):
    """Errors are on stderr."""
    monkeypatch.chdir(models.parent)
    ended = blsnb("serve", *words)

    assert (2, "") == (ended.status, ended.stdout)
    assert ended.stderr.startswith("blsnb serve: ")
    assert said in ended.stderr
    assert 1 == ended.stderr.count("\n")


def test_a_model_that_does_not_load_is_reported(models, blsnb):
    """The text is Triton's with the model's own lines, without a traceback of blsnb."""
    write_model(
        models, "bad", cell("return []", methods="def initialize(self, args): 1/0\n")
    )
    ended = blsnb("serve", models, *ANY)

    assert (2, "") == (ended.status, ended.stdout)
    assert "ZeroDivisionError: division by zero" in ended.stderr
    assert "With --keep-going a server starts nevertheless." in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_in_use_is_reported(models, blsnb):
    """The error has port, protocol and advice."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = blsnb(
            *("serve", models, "--log-info=false"), *("--http", port, "--grpc", "0")
        )

    assert (2, "") == (ended.status, ended.stdout)
    assert f"blsnb serve: HTTP cannot be served on port {port} of 127." in ended.stderr
    assert 1 == len(ended.stderr.splitlines())


def test_an_address_reachable_from_outside_gives_a_warning(models):
    """It is a line on stderr; the models are served."""
    with serving(models, *ANY, "--host", "0.0.0.0") as (process, lines):
        assert address_of("HTTP", lines).startswith("0.0.0.0:")
        process.send_signal(signal.SIGTERM)
        _, wrong = process.communicate(timeout=60)

    assert wrong.startswith("blsnb serve: models are served on 0.0.0.0: everybody ")
    assert 1 == wrong.count("\n")
