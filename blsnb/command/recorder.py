"""``blsnb recorder``: record the models of a production server."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from blsnb.command.arguments import Parser
from blsnb.recorder.installation import RecorderFiles, recorder_files

_ABOUT = """\
Record the models of a Triton server, to look at and replay the requests here.

The recorder is one file and a .pth file in the environment of the server's models. It
does nothing until the server is started with BLSNB_RECORD=FOLDER; then each process of
a model writes what it executes into FOLDER, for blsnb.load_recording("FOLDER")."""


def run(words: Sequence[str]) -> int:
    """Install the recorder, remove it, or say whether it is installed."""
    parser = Parser("recorder", _ABOUT)
    parser.add_argument("action", choices=["install", "status", "uninstall"])
    parser.add_argument(
        "--python",
        metavar="ENV",
        help="the environment of the server's models: its folder, or its interpreter "
        "(that of the server which blsnb verify starts)",
    )
    given = parser.parse_args(list(words))
    files = recorder_files(given.python or _verifying_python())
    print(_ACTIONS[given.action](files))
    return 0


def _verifying_python() -> str:
    """Return the interpreter of the models of the server that comparisons start."""
    from blsnb.parity.discovery import find

    with tempfile.TemporaryDirectory() as folder:
        return find(Path(folder)).python


def _install(files: RecorderFiles) -> str:
    files.install()
    return (
        f"The recorder is installed in {files.module.parent}. Start the server with "
        "BLSNB_RECORD=FOLDER to record."
    )


def _status(files: RecorderFiles) -> str:
    if not files.exist:
        return f"The recorder is not installed in {files.module.parent}."
    if files.are_current:
        return f"The recorder is installed in {files.module.parent}."
    return (
        f"The recorder in {files.module.parent} is that of another release: install "
        "it again."
    )


def _uninstall(files: RecorderFiles) -> str:
    if not files.exist:
        return f"The recorder is not installed in {files.module.parent}."
    files.uninstall()
    return f"The recorder is removed from {files.module.parent}."


_ACTIONS = {"install": _install, "status": _status, "uninstall": _uninstall}
