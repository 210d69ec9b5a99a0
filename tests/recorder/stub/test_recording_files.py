"""Specification of the thread that writes a recording, and of its end."""

from __future__ import annotations

import threading

import pytest

from blsnb import load_recording
from blsnb.errors import TraceFileError
from blsnb.recorder.stub import executions, recording_files
from blsnb.recorder.stub.executions import RecordedCall, RecordedExecution
from blsnb.recorder.stub.recording_files import RecordingFiles, RecordingFull
from blsnb.recorder.stub.settings import RecorderSettings
from blsnb.trace.events import CallFlag

WAIT_S = 60
PROCESS = {"model": "m", "pid": 1, "started_unix_ns": 1}


def test_a_file_is_not_completed_without_what_its_thread_failed_to_write(tmp_path):
    """The process may end before the fault is reported."""
    failing, released = threading.Event(), threading.Event()

    def failed(error):
        failing.set()
        assert released.wait(WAIT_S)

    settings = RecorderSettings(str(tmp_path / "recording"))
    files = RecordingFiles(settings, PROCESS, {}, failed)
    files.add(RecordedExecution([RecordedCall("m", 1)], True))
    # Without a number the call cannot be written.
    files.add(RecordedExecution([object.__new__(RecordedCall)], True))
    assert failing.wait(WAIT_S)
    files.close()
    released.set()
    files._thread.join(WAIT_S)
    (file,) = (tmp_path / "recording").iterdir()

    assert b"DONE" not in file.read_bytes()


def test_a_run_has_its_model_and_the_number_of_its_execution(tmp_path):
    """Requests that were executed together have the same number."""
    executions = []
    files = RecordingFiles(RecorderSettings(str(tmp_path)), PROCESS, {}, pytest.fail)
    for size in (2, 1):
        calls = [RecordedCall("m", 1) for _ in range(size)]
        for call in calls:
            call.end_ns = call.start_ns + 5
        executions.append(RecordedExecution(calls, True))
        files.add(executions[-1])
    files.close()
    recording = load_recording(tmp_path)
    found = [run.trace.spans[0] for run in recording]

    assert ["m"] * 3 == [run.model_name for run in recording]
    batch, alone = (each.number for each in executions)
    assert [(batch, 2), (batch, 2), (alone, 1)] == [
        (each.execution, each.batch) for each in found
    ]


@pytest.mark.parametrize(("size", "left_out"), [(3, []), (5, [2])])
def test_executions_that_too_many_wait_before_are_left_out(
    tmp_path, monkeypatch, size, left_out
):
    """The server does not wait for the disk; the file says how many it lacks."""
    monkeypatch.setattr(recording_files, "_WAITING", 3)
    files = RecordingFiles(RecorderSettings(str(tmp_path)), PROCESS, {}, pytest.fail)
    with files._writing:
        for _ in range(size):
            files.add(RecordedExecution([RecordedCall("m", 1)], True))
    files.close()
    runs = load_recording(tmp_path)

    assert 3 == len(runs)
    assert [
        f"Left out, as too many executions waited: {count}." for count in left_out
    ] == [each for each in runs[0].trace.remarks if "Left out" in each]


@pytest.mark.parametrize(
    ("name", "is_full"), [("other.blsrun", True), ("notes.txt", False)]
)
def test_a_folder_is_full_of_recordings_only(tmp_path, name, is_full):
    """Other files do not count; the last remark says why the recording ended."""
    folder = tmp_path / "recording"
    folder.mkdir(mode=0o700)
    (folder / name).write_bytes(bytes(10_000))
    errors = []
    settings = RecorderSettings(str(folder), total_bytes=10_000)
    files = RecordingFiles(settings, PROCESS, {}, errors.append)
    files.add(RecordedExecution([RecordedCall("m", 1)], True))
    try:
        files.close()
    except RecordingFull as error:
        errors.append(error)
        files.abandon()
    files._thread.join(WAIT_S)
    (folder / name).unlink()
    [run] = load_recording(folder)

    text = "the recording ended at BLSNB_RECORDER_TOTAL_BYTES=10000"
    assert [text] * is_full == list(map(str, errors))
    assert [f"{text}."] * is_full == [
        each for each in run.trace.remarks if "TOTAL_BYTES" in each
    ]


def test_a_folder_without_a_recording_is_refused(tmp_path):
    """The error says who writes one."""
    with pytest.raises(TraceFileError) as refused:
        load_recording(tmp_path)

    assert (
        f"'{tmp_path}' has no recording; expected files ending in .blsrun, which a "
        "server writes that was started with BLSNB_RECORD"
    ) == str(refused.value)


def test_a_symbolic_link_in_the_folder_is_not_followed(tmp_path):
    """Its target keeps its content, and the recording ends."""
    folder, target = tmp_path / "recording", tmp_path / "target"
    target.write_text("kept")
    first = RecordingFiles(RecorderSettings(str(folder)), PROCESS, {}, pytest.fail)
    first.add(RecordedExecution([RecordedCall("m", 1)], True))
    first.close()
    (file,) = folder.iterdir()
    file.unlink()
    file.symlink_to(target)
    failed, failures = threading.Event(), []

    def fail(error):
        failures.append(error)
        failed.set()

    second = RecordingFiles(RecorderSettings(str(folder)), PROCESS, {}, fail)
    second.add(RecordedExecution([RecordedCall("m", 1)], True))
    assert failed.wait(WAIT_S)

    assert [FileExistsError] == [type(error) for error in failures]
    assert ("kept", True) == (target.read_text(), file.is_symlink())


def test_a_recorded_call_has_the_flags_of_a_trace():
    """The recorder cannot import them: it is one file without dependencies."""
    names = ("ASYNC", "DECOUPLED", "ERROR", "RUNNING", "CANCELLED")

    assert [CallFlag[name] for name in names] == [
        getattr(executions, name) for name in names
    ]
