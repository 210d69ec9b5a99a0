"""Real servers that a comparison starts: always stopped, without leftovers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from interrupts import RunningTime
from waiting import until

from blsnb.errors import InputError, RequestInterrupted, TritonServerError
from blsnb.files.owned import OwnedFolder
from blsnb.inference_server import Server
from blsnb.parity import verification
from blsnb.parity.triton.environment import HIDE, HOME
from blsnb.parity.triton.server_process import SHARED_MEMORY, memory_prefix
from blsnb.trace.events import Activity

from ..models import CONFIG, DEADLY, source

NEVER = "echo starting; exec sleep 600"


@pytest.fixture(autouse=True)
def no_leftovers(tmp_path, monkeypatch):
    """Fail if a test leaves a folder, a process or shared memory."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made))
    before = set(regions())
    yield
    assert [] == [each.name for each in made.iterdir() if "parity" in each.name]
    assert [] == servers(made)
    assert set() == set(regions()) - before


def regions() -> Iterator[Path]:
    """Yield the shared memory of this process' servers."""
    return SHARED_MEMORY.glob(f"{memory_prefix()}*")


def servers(folder: Path) -> list[str]:
    """Return the command lines that contain a folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            found += [line] if str(folder) in line else []
    return found


@pytest.fixture
def pretend(tmp_path, monkeypatch):
    """Return a function that puts a script on PATH as the real server."""

    def put(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "tritonserver").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "tritonserver").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.mark.triton_server
def test_the_models_are_exported_served_and_compared(ours, real):
    """Only needed models are loaded, and the real server's trace is compared."""
    ours.define("idle", source("return [reply(x)]"), config=CONFIG)
    steps: list[tuple[float, str]] = []
    cases = [{"inputs": {"X": [1.0] * size}} for size in (3, 1)]
    parity = ours.compare(
        "outer",
        {"X": [0.1] * 9},
        cases=cases,
        progress=lambda *step: steps.append(step),
    )
    same, different, failed = parity.cases

    assert [True, False, True] == [each.agree for each in parity.cases]
    assert [
        "case 1 of 3, on blsnb",
        "case 2 of 3, on blsnb",
        "case 3 of 3, on blsnb",
        "export the models",
        "start the real server with outer, sine",
        "case 1 of 3, on the real server",
        "case 2 of 3, on the real server",
        "case 3 of 3, on the real server",
        "stop the real server",
        "done",
    ] == [words for _, words in steps]
    shares = [share for share, _ in steps]
    assert (sorted(shares), 0.0, 1.0) == (shares, shares[0], shares[-1])
    assert different is parity.shown_case
    assert ["outer", "sine"] == [each.name for each in same.real_run.trace.models]
    assert len(Activity) == len(same.real_run.trace.spans[1].events)
    # Rounded floats of a trace file are not differences.
    assert [] == same.comparison.changes
    assert [] == failed.comparison.changes
    assert [0] == [change.call for change in different.comparison.changes]
    assert "ValueError: one of 1" in failed.real_run.error


@pytest.mark.triton_server
def test_a_server_that_ends_during_a_request_is_reported_with_its_log(real):
    """It was strict, as the blsnb server: no configuration was completed."""
    completes = (
        "    @staticmethod\n    def auto_complete_config(config):\n        1 / 0\n"
    )
    with Server(strict_model_config=True) as server:
        server.define("deadly", f"{source(DEADLY)}\n{completes}", config=CONFIG)
        with pytest.raises(TritonServerError, match="ended during a request") as died:
            server.compare("deadly", {"X": [1.0]})

    assert "Started GRPCInferenceService" in died.value.log


@pytest.mark.triton_server
def test_a_model_that_does_not_load_there_is_reported(ours, real):
    """The error contains the reason and the next step."""
    text = "if 'blsnb' not in sys.modules:\n    import here_alone\n"
    ours.define("lonely", text.join(["import sys\n", source("pass")]), config=CONFIG)
    with pytest.raises(TritonServerError) as refused:
        ours.compare("lonely", {"X": [1.0]})

    assert "model 'lonely' does not load on the real server: " in refused.value.message
    assert "No module named 'here_alone'" in refused.value.message
    assert "%%triton_model ... --file PATH" in refused.value.advice


def test_a_server_that_ends_is_reported_with_its_log(ours, pretend):
    """The error contains its exit status."""
    pretend("echo 'no backend here' >&2; exit 7")
    with pytest.raises(TritonServerError) as died:
        ours.compare("sine", {"X": [1.0]})

    assert "ended with status 7" in died.value.message
    assert "no backend here\n" == died.value.log


def test_waiting_for_readiness_ends_after_the_timeout(ours, pretend):
    """The error contains the log."""
    pretend(NEVER)
    # On a busy machine the log may still be empty after a short time.
    for timeout_s in (0.4, 4, 40):
        with pytest.raises(TritonServerError, match="not ready after") as died:
            ours.compare("sine", {"X": [1.0]}, timeout_s=timeout_s)
        if died.value.log:
            break

    assert f"not ready after {timeout_s} s" in died.value.message
    assert "starting\n" == died.value.log


def test_an_interrupt_ends_a_comparison_within_a_second(ours, pretend, tmp_path):
    """The server is killed without a graceful shutdown."""
    begun = tmp_path / "begun"
    pretend(f"touch {begun}; {NEVER}")
    until_back = RunningTime()

    def interrupt() -> None:
        until(begun.exists)
        os.kill(os.getpid(), signal.SIGINT)
        until_back.count()

    thread = threading.Thread(target=interrupt)

    def begin(_: float, words: str) -> None:
        if words.startswith("start the"):
            thread.start()

    with pytest.raises(KeyboardInterrupt):
        ours.compare("sine", {"X": [1.0]}, progress=begin)
    until_back.end()
    assert until_back.seconds < 1
    thread.join()


def test_a_second_interrupt_leaves_no_folder(ours, pretend, monkeypatch):
    """The cleanup of a comparison completes, and no frame of it is shown."""
    pretend(NEVER)
    left = []

    class Closed(OwnedFolder):
        def close(self) -> None:
            signal.raise_signal(signal.SIGINT)
            super().close()
            left.append(self.path.exists())

    def begin(_: float, words: str) -> None:
        if words.startswith("start the"):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(verification, "OwnedFolder", Closed)
    with pytest.raises(RequestInterrupted) as raised:
        ours.compare("sine", {"X": [1.0]}, progress=begin)

    assert [False] == left
    assert raised.value.__suppress_context__


def test_a_server_ends_with_the_process_that_started_it(tmp_path, pretend):
    """It ends even if that process is killed."""
    pretend(f"echo $$ > {tmp_path}/server; exec sleep 600")
    script = (
        "import os, signal, threading, blsnb\n"
        "from pathlib import Path\n"
        "import blsnb.parity.triton.server_process as process\n"
        "def killed(self):\n"
        f"    if Path({str(tmp_path / 'server')!r}).exists():\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "process.TritonServer._listens = killed\n"
        "server = blsnb.Server()\n"
        "server.define('m', 'class TritonPythonModel:\\n pass\\n', config='')\n"
        "server.compare('m', {})\n"
    )
    own = tmp_path / "other"
    own.mkdir()
    variables = {**os.environ, "TMPDIR": str(own)}
    ended = subprocess.run([sys.executable, "-c", script], env=variables)

    assert -signal.SIGKILL == ended.returncode
    pid = int((tmp_path / "server").read_text())
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        subprocess.run(["true"])
    assert not Path(f"/proc/{pid}").exists()


def test_without_a_real_server_the_error_contains_the_install_command(
    ours, monkeypatch, tmp_path
):
    """The model does not run."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(HOME, str(tmp_path / "none"))
    monkeypatch.delenv(HIDE, raising=False)
    with pytest.raises(TritonServerError) as refused:
        ours.compare("sine", {"X": [1.0]})

    assert "no tritonserver is on PATH" in refused.value.message
    assert f"{sys.executable} -m blsnb.parity.install" in refused.value.advice


def test_wrong_requests_are_refused_before_any_server_starts(ours, pretend):
    """The error names what is wrong."""
    pretend("exit 1")
    with pytest.raises(
        InputError, match=r"there is no request to compare: pass inputs or cases$"
    ):
        ours.compare("sine")
    with pytest.raises(InputError, match="'X'"):
        ours.compare("sine", {"X": [object()]})
