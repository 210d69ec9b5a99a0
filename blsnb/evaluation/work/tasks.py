"""Tasks of an executor: chunks, executed on a server that each process opens once."""

from __future__ import annotations

import io
import threading
import uuid
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from blsnb.evaluation.plain import Chunk, EvaluationSettings, RowResult
from blsnb.evaluation.work.server_copy import CopiedServer, ServerCopy
from blsnb.files.owned import OwnedFolder

MAX_SERVERS = 2
"""Maximum number of servers that a process keeps open."""
_FOLDER = "blsnb-copied-models-"


class NeedsModels(NamedTuple):
    """The result of a task in a process that does not have the models yet."""


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk, with the models if the process may lack them.

    Parameters
    ----------
    archive
        Content of the folder of models as a zip file; None to send it on request.
    """

    copy: ServerCopy
    settings: EvaluationSettings
    chunk: Chunk
    archive: bytes | None = None

    def __dask_tokenize__(self) -> str:
        # Dask would hash all arrays, and return an earlier result for equal ones.
        return uuid.uuid4().hex


def run_task(task: Task) -> list[RowResult] | NeedsModels:
    """Execute a task in the process of an executor.

    Raises
    ------
    BlsnbError
        A model does not load in this process.
    """
    server = _servers.get(task)
    return NeedsModels() if server is None else server.run(task.chunk)


class _Servers:
    """The servers of this process by the digest of their models and settings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: OrderedDict[str, _Opened] = OrderedDict()

    def get(self, task: Task) -> CopiedServer | None:
        """Return the server of a task, opened if necessary; None without its models."""
        key = key_of(task.copy, task.settings)
        with self._lock:
            if key not in self._opened:
                if task.archive is None:
                    return None
                self._opened[key] = _Opened(task, task.archive)
                while len(self._opened) > MAX_SERVERS:
                    _, oldest = self._opened.popitem(last=False)
                    oldest.close()
            self._opened.move_to_end(key)
            return self._opened[key].server

    def close(self, key: str) -> None:
        """Close a server, if this process has opened it."""
        with self._lock:
            opened = self._opened.pop(key, None)
        if opened is not None:
            opened.close()


class _Opened:
    """A server, and the folder of its models; both end with the process."""

    def __init__(self, task: Task, archive: bytes) -> None:
        self._folder = OwnedFolder.temporary(_FOLDER)
        try:
            models = self._folder.create() / "models"
            unpack(archive, models)
            self.server = CopiedServer(task.copy, models, task.settings)
        except BaseException:
            self._folder.close()
            raise

    def close(self) -> None:
        """Finalize the models and remove the folder."""
        self.server.close()
        self._folder.close()


_servers = _Servers()


def close_here(copy: ServerCopy, settings: EvaluationSettings) -> None:
    """Close a copy of a server in this process, where an executor has threads."""
    _servers.close(key_of(copy, settings))


def key_of(copy: ServerCopy, settings: EvaluationSettings) -> str:
    """Return the key under which a process keeps a copy of a server open."""
    return f"{copy.digest} {settings}"


def pack(folder: Path) -> bytes:
    """Return the content of a folder as a zip file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return content.getvalue()


def unpack(content: bytes, folder: Path) -> None:
    """Write the files of a zip file into a new folder."""
    folder.mkdir()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
