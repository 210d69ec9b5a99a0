"""Saves: whether a model's files were saved since it was loaded, and are complete."""

from __future__ import annotations

from blsnb.repository.directory import Files, sources


class Saves:
    """Decides when a watched model is due; told what its folder looks like.

    An editor may write a file in steps, and several files one after the other, so a
    model is due when a look finds it changed, and just as the look before did.

    Parameters
    ----------
    served
        The files as they were when the model was loaded.
    """

    def __init__(self, served: Files) -> None:
        self._taken = dict(served)
        self._last: Files | None = None

    def is_due(self, files: Files) -> bool:
        """Whether to load the model now."""
        if files == self._taken:
            self._last = None
            return False
        still = files == self._last
        self._last = files
        return still

    def taken(self, before: Files, after: Files) -> None:
        """Note that a load was tried, whether it succeeded or not.

        Parameters
        ----------
        before, after
            The files before the load and after it: what the model itself wrote
            meanwhile is no reason for another one, but a source that was saved is.
        """
        written = {p: after[p] for p in after.keys() - sources(after).keys()}
        self._taken = {**written, **sources(before)}
        self._last = None
