"""The files of a recording: chunks that a thread of their own appends."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.chunk_values import FileNumbers
from blsnb.trace.files.v2.chunks import FORMAT, MAGIC, packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from blsnb.recorder.stub.executions import RecordedExecution
    from blsnb.recorder.stub.settings import RecorderSettings

RELEASE = "development"
"""The release of blsnb that made this file; the bundle replaces it."""
_PAUSE_S = 0.1
"""Time between two writes, in seconds."""
_BLOCK = 64
"""Maximum number of executions in a chunk."""
_WAITING = 4096
"""Maximum number of executions that wait to be written."""
_LOOK_NS = 1_000_000_000
"""Time between two looks at the size of the folder, in nanoseconds."""
_SUFFIX = ".blsrun"
_NAME = 100
"""Maximum number of letters of the model in the name of a file."""


class RecordingFull(Exception):
    """The folder has reached its maximum size."""


class RecordingFiles:
    """Appends executions to the files of this process, until the recording ends.

    Parameters
    ----------
    settings
        Folder and limits.
    process
        What the files say of this process.
    sources
        Sources of models, by name.
    failed
        Called with the error that ends the recording.
    """

    def __init__(
        self,
        settings: RecorderSettings,
        process: dict[str, Any],
        sources: dict[str, str],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._settings = settings
        self._process = process
        self._sources = sources
        self._failed = failed
        self._waiting: list[RecordedExecution] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._file = self._folder = -1
        self._size = self._chunks = self._number = self._left_out = 0
        self._looked_ns = self._others = 0
        self._numbers = FileNumbers()
        self._ended = False

    def add(self, execution: RecordedExecution) -> None:
        """Take a complete execution, to be written soon."""
        with self._lock:
            if self._ended:
                return
            if len(self._waiting) >= _WAITING:
                self._left_out += 1
                return
            self._waiting.append(execution)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="blsnb-recorder", daemon=True
                )
                self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Write what waits and complete the file."""
        with self._writing:
            if not self._ended:
                self._write_waiting()
                self._finish_file()
        self._end()

    def abandon(self) -> None:
        """End the recording; the file stays as it is."""
        self._waiting = []
        self._end()

    def _end(self) -> None:
        self._ended = True
        self._stop.set()
        self._wake.set()

    def forget(self) -> None:
        """End the recording in a forked child, which shares the parent's file."""
        self._ended = True
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _run(self) -> None:
        try:
            while not self._ended:
                self._wake.wait()
                self._wake.clear()
                self._stop.wait(_PAUSE_S)
                self._write_in_thread()
        except Exception as error:
            self._failed(error)

    def _write_in_thread(self) -> None:
        with self._writing:
            try:
                self._write_waiting()
            except Exception:
                # `close` must not complete a file that lacks what was taken.
                self._ended = True
                raise

    def _write_waiting(self) -> None:
        while self._waiting and not self._ended:
            with self._lock:
                block = self._waiting[:_BLOCK]
                del self._waiting[:_BLOCK]
            if self._file >= 0 and self._size >= self._settings.file_bytes:
                self._finish_file()
            if self._file < 0:
                self._open()
            for name, value, body in self._numbers.chunks(block, self._sources):
                self._append(name, value, body)
            self._check_total()

    def _check_total(self) -> None:
        """End the recording when the folder is full."""
        limit = self._settings.total_bytes
        now_ns = time.monotonic_ns()
        if now_ns - self._looked_ns > _LOOK_NS:
            self._looked_ns, self._others = now_ns, self._other_bytes()
        if self._size + self._others < limit:
            return
        text = f"the recording ended at BLSNB_RECORDER_TOTAL_BYTES={limit}"
        self._append("rmrk", {"remarks": [f"{text}."]}, [])
        self._finish_file()
        raise RecordingFull(text)

    def _append(self, name: str, value: Any, body: list[bytes]) -> None:
        data = b"".join(packed(name, self._chunks, value, body))
        self._put(data)
        self._chunks += 1

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._file, view)
            self._size += written
            view = view[written:]

    def _other_bytes(self) -> int:
        total = -self._size
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    total += entry.stat(follow_symlinks=False).st_size
        return max(0, total)

    def _open(self) -> None:
        if self._folder < 0:
            self._folder = _opened_folder(self._settings.folder)
        facts = self._process
        self._number += 1
        name = "{}-{}-{}-{}{}".format(
            facts["model"][:_NAME].replace("/", "_"),
            facts["pid"],
            facts["started_unix_ns"],
            self._number,
            _SUFFIX,
        )
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(name, flags, 0o600, dir_fd=self._folder)
        self._size = self._chunks = 0
        self._numbers = FileNumbers()
        self._put(MAGIC)
        self._append("HEAD", self._head(name), [])

    def _head(self, name: str) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "written_by": f"blsnb {RELEASE}, recorder",
            "kind": "recording",
            "run": name[: -len(_SUFFIX)],
            "title": self._process["model"],
            "clock": {
                "monotonic_ns": time.monotonic_ns(),
                "unix_ns": time.time_ns(),
            },
            "process": self._process,
            "settings": self._settings._asdict(),
        }

    def _finish_file(self) -> None:
        if self._file < 0:
            return
        if self._left_out:
            remark = f"Left out, as too many executions waited: {self._left_out:,}."
            self._append("rmrk", {"remarks": [remark]}, [])
            self._left_out = 0
        self._append("DONE", {"taken_ns": time.monotonic_ns()}, [])
        os.close(self._file)
        self._file = -1


def _opened_folder(path: str) -> int:
    """Return a descriptor of the folder, which no other user may enter."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    facts = os.fstat(folder)
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        os.close(folder)
        raise PermissionError(
            f"{path} must belong to the user of the server and have the mode 0700"
        )
    return folder


def report(text: str) -> None:
    """Write a line to the log of the server."""
    sys.stderr.write(f"blsnb recorder: {text}\n")
    sys.stderr.flush()
