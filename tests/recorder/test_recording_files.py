"""Specification of the thread that writes a recording, and of its end."""

from __future__ import annotations

import threading

from blsnb.recorder.stub.executions import Execution, RecordedCall
from blsnb.recorder.stub.recording_files import RecordingFiles
from blsnb.recorder.stub.settings import RecorderSettings

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
    files.add(Execution([RecordedCall("m", 1)], True))
    # Without a number the call cannot be written.
    files.add(Execution([object.__new__(RecordedCall)], True))
    assert failing.wait(WAIT_S)
    files.close()
    released.set()
    files._thread.join(WAIT_S)
    (file,) = (tmp_path / "recording").iterdir()

    assert b"DONE" not in file.read_bytes()
