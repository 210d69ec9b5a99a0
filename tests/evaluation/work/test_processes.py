"""Rows on worker processes: killed ones, endless ones, and their owner's end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from waiting import until

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import Chunk, Row, RowResult
from blsnb.evaluation.work import plan
from blsnb.evaluation.work.chunks import Chunks
from blsnb.evaluation.work.plan import MAX_DEATHS
from blsnb.evaluation.work.portable import copy_server
from blsnb.evaluation.work.processes import KILLED_CODE, RowsInProcesses
from blsnb.evaluation.work.server_copy import Opening
from blsnb.evaluation.work.worker_process import KILL_S, WorkerProcess
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.trace.files.v2.chunks import MAGIC

from .places import DOUBLE, MODEL, SETTINGS, by_number, opening, rows

pytestmark = pytest.mark.xdist_group("evaluation workers")
EXITING = """
    def initialize(self, args):
        if os.getpid() != {owner}:
            os.write(2, b"the library has no license\\n")
            os._exit(7)
"""
"""A method that ends each process but one."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opening]:
    """Return what workers open."""
    with opening(tmp_path_factory.mktemp("models")) as found:
        yield found


@pytest.fixture(scope="module")
def runner(opened: Opening) -> Iterator[RowsInProcesses]:
    """Return a place with one worker, which tests share."""
    made = RowsInProcesses(opened, 1)
    yield made
    made.close()


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait to be reaped."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def pids(runner: RowsInProcesses) -> list[int]:
    """Return the process ids of a place's workers."""
    return [worker.pid for worker in runner.workers.values()]


def test_only_the_rows_that_kill_their_worker_fail(runner: RowsInProcesses) -> None:
    """A row that kills two workers fails with how the last one ended."""
    found = by_number(runner, Chunks(rows([-1, 6])))
    assert [12, 2] == found[1].outputs["Y"].tolist()
    assert KILLED_CODE == found[0].code
    assert (
        f"{MAX_DEATHS} worker processes ended while they executed this row; the last "
        "one was killed by SIGKILL"
    ) == found[0].error


def test_the_end_of_a_worker_is_noticed_though_its_child_runs(
    runner: RowsInProcesses,
) -> None:
    """A process that a model forked holds the pipe open, and is ended, too."""
    [result] = by_number(runner, Chunks(rows([-7])))
    assert result.error.endswith("was killed by SIGKILL")


@pytest.mark.slow  # Two more processes for the same path.
def test_an_exit_in_execute_is_a_killed_worker(runner: RowsInProcesses) -> None:
    """The failed row names the exit status."""
    [result] = by_number(runner, Chunks(rows([-2])))
    assert result.error.endswith("the last one ended with exit status 3")


def test_a_worker_that_ends_before_its_models_are_loaded_is_an_error(
    tmp_path: Path,
) -> None:
    """The error has the exit status, and the last lines of the worker."""
    with Server() as server:
        server.define(MODEL, DOUBLE + EXITING.format(owner=os.getpid()))
        copy = copy_server(parts_of(server), MODEL, tmp_path)
    runner = RowsInProcesses(Opening(copy, tmp_path, SETTINGS), 1)
    try:
        with pytest.raises(BlsnbError) as caught:
            list(runner.results(Chunks(rows([1]))))
    finally:
        runner.close()
    first, *last = str(caught.value).splitlines()
    assert (
        "a worker process ended with exit status 7 before its models were loaded; its "
        "last lines:"
    ) == first
    assert "the library has no license" == last[-1]


def test_a_model_s_failures_are_data(runner: RowsInProcesses) -> None:
    """MemoryError, sys.exit and an error response fail their row only."""
    before = pids(runner)
    found = by_number(runner, Chunks(rows([-3, -4, -6, 1]), size=4))
    assert "MemoryError: no room for 1 TB" in found[0].error
    assert ("no answer", "NOT_FOUND") == (found[1].error, found[1].code)
    assert found[2].error
    assert [2, 2] == found[3].outputs["Y"].tolist()
    assert before == pids(runner)


def test_runs_of_failed_rows_are_files(runner: RowsInProcesses) -> None:
    """A failed row has its whole run as the content of a .blsrun file."""
    [result] = by_number(runner, Chunks(rows([-4])))
    assert result.run.startswith(MAGIC)


def test_a_worker_killed_from_outside_is_replaced(runner: RowsInProcesses) -> None:
    """The chunk of a killed worker runs again, and no row fails."""
    chunks = Chunks(rows(range(6)), size=2)

    def with_kill() -> Iterator[Chunk]:
        yield next(chunks)
        yield next(chunks)
        os.kill(pids(runner)[0], signal.SIGKILL)
        yield from chunks

    found = [each for results in runner.results(with_kill()) for each in results]
    assert [0, 1, 2, 3, 4, 5] == sorted(result.number for result in found)
    assert not any(result.error for result in found)


def test_an_input_that_cannot_be_sent_fails_its_row(runner: RowsInProcesses) -> None:
    """The other rows of the chunk are executed."""
    unsent = Row(1, {"X": lambda: 0})
    chunk = Chunk(0, (*rows([7]), unsent))
    found = [each for results in runner.results([chunk]) for each in results]
    by_row = {result.number: result for result in found}
    assert by_row[1].error.startswith("input 'X' cannot be sent to another process: ")
    assert [14, 2] == by_row[0].outputs["Y"].tolist()


def test_labels_stay_with_their_owner(runner: RowsInProcesses) -> None:
    """A value that only metrics receive is never pickled."""
    row = Row(0, {"X": np.array([1, 1])}, {"label": lambda: 0})
    [[result]] = list(runner.results([Chunk(0, (row,))]))
    assert [2, 2] == result.outputs["Y"].tolist()


def test_ctrl_c_yields_the_chunks_in_flight_and_takes_no_more(
    runner: RowsInProcesses,
) -> None:
    """The results that were under way arrive before KeyboardInterrupt."""
    chunks = Chunks(rows(range(100)), size=1)

    def with_interrupt() -> Iterator[Chunk]:
        yield next(chunks)
        signal.raise_signal(signal.SIGINT)
        yield from chunks

    found: list[list[RowResult]] = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(runner.results(with_interrupt()))
    assert [[0]] == [[result.number for result in results] for results in found]


FINALIZED = """
    def finalize(self):
        if os.getpid() != {owner}:
            open({file!r}, "w").close()
"""
"""A method that leaves a file in each process but one."""


def test_close_lets_a_worker_finalize_its_models(tmp_path: Path) -> None:
    """It may write what it holds, as when a server ends."""
    file = tmp_path / "finalized"
    with Server() as server:
        method = FINALIZED.format(owner=os.getpid(), file=str(file))
        server.define(MODEL, DOUBLE + method)
        copy = copy_server(parts_of(server), MODEL, tmp_path)
    runner = RowsInProcesses(Opening(copy, tmp_path, SETTINGS), 1)
    assert [[2, 2]] == [
        each.outputs["Y"].tolist() for each in by_number(runner, Chunks(rows([1])))
    ]
    assert not file.exists()
    runner.close()

    assert file.exists()


def test_close_ends_a_worker_whose_model_never_returns(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C and the grace periods the process is killed."""
    monkeypatch.setattr(plan, "GRACE_S", 0.1)
    monkeypatch.setattr("blsnb.evaluation.work.processes.STOP_S", 0.1)
    runner = RowsInProcesses(opened, 1)

    def endless() -> Iterator[Chunk]:
        yield next(Chunks(rows([-5])))
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        list(runner.results(endless()))
    [pid] = pids(runner)
    assert is_running(pid)
    runner.close()
    assert not is_running(pid)


def test_a_killed_worker_is_not_awaited_forever(opened: Opening) -> None:
    """A process that waits for a device does not end; the caller continues."""
    worker = WorkerProcess(opened)
    process = worker._process

    def wait(timeout: float | None = None) -> int:
        raise subprocess.TimeoutExpired("worker", timeout)

    worker._process = SimpleNamespace(pid=process.pid, wait=wait, returncode=None)
    worker.kill()
    process.wait(KILL_S)

    assert "was killed, and has not ended after 5 s" == worker.ending()


def test_a_model_that_does_not_load_in_a_worker_is_an_error(opened: Opening) -> None:
    """The error has the text of the worker's load."""
    broken = opened._replace(copy=replace(opened.copy, models=("absent",)))
    runner = RowsInProcesses(broken, 1)
    with pytest.raises(BlsnbError, match=r"a worker process cannot evaluate: .*absent"):
        list(runner.results(Chunks(rows([1]))))
    runner.close()


OWNER = """
import sys
from pathlib import Path
from blsnb.evaluation.work.chunks import Chunks
from blsnb.evaluation.work.processes import RowsInProcesses
from evaluation.work.places import opening, rows
with opening(Path(sys.argv[1])) as opened:
    runner = RowsInProcesses(opened, 1)
    for results in runner.results(Chunks(rows([1, -5]))):
        print(runner.workers[0].pid, flush=True)
"""


def test_a_killed_owner_leaves_no_worker(tmp_path: Path) -> None:
    """A worker ends after its owner's death, though its model never returns."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert is_running(pid)
        owner.kill()
    assert until(lambda: not is_running(pid))
