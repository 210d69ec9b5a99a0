"""Secret file: a text that must not reach the output of a notebook, which is saved."""

from __future__ import annotations

import os

from blsnb.files.owned import OwnedFolder


class SecretFile:
    """A file that only this user can read, removed with its object or process.

    Parameters
    ----------
    name
        Name of the file, in a folder of its own.
    text
        Its content.

    Raises
    ------
    OSError
        It cannot be written.
    """

    def __init__(self, name: str, text: str) -> None:
        self._folder = OwnedFolder.temporary("blsnb-secret-")
        self.path = self._folder.create() / name
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(self.path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)

    def close(self) -> None:
        """Remove the file; safe to repeat."""
        self._folder.close()
