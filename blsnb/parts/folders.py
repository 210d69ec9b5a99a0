"""Exchange: what a server does with folders: import, export, follow their changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.errors import ModelLoadError, RepositoryError
from blsnb.parts.models import Models
from blsnb.parts.seen_calls import seen_calls
from blsnb.repository.repository import models_in
from blsnb.repository.status import ModelStatus
from blsnb.run import Run, take_trace

if TYPE_CHECKING:
    from blsnb.model.config import ModelConfig
    from blsnb.model.implied import Implied
    from blsnb.repository.export import Exported
    from blsnb.trace.recorder import RunRecord

_HIDDEN = "a model of this name was defined here and hides the one that was imported"


class Exchange(Models):
    """The part of a server that meets folders on disk."""

    def watch(self, name: str) -> None:
        """Load a model anew whenever a file of its folder is saved.

        It ends with `unwatch`, `unload` and `close`. A load that fails leaves what
        serves, and is logged; the next save tries again.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        self._check_open()
        # Refused unless it serves.
        self.config_text(name)
        self._changed_files.watch(name)

    def unwatch(self, name: str) -> None:
        """Watch a model no more; one that was not watched is no error."""
        self._changed_files.unwatch(name)

    @property
    def watched(self) -> list[str]:
        """Names of the models that are watched, sorted."""
        return self._changed_files.watched()

    def load_changed(self) -> dict[str, ModelLoadError | None]:
        """Load the models of the private folder whose sources were changed since.

        That is done before each cell of a notebook. Sources are Python files and
        configurations; the same change is tried once.

        Returns
        -------
        dict
            The models, each with the error if it did not load; then what served
            before still does.
        """
        self._check_open()
        ours = sorted(models_in(self.repository.private_root))
        with self._control.alone():
            return self._changed_files.load_changed(ours)

    def import_repository(
        self, path: str | Path, names: Sequence[str] | None = None
    ) -> list[ModelStatus]:
        """Load the models of a repository on disk, where they are.

        The folder is read from now on, and never written. A model that does not load
        is no error: its status says why, and the others are loaded all the same.

        Parameters
        ----------
        names
            Which models to load; all of the folder if None.

        Raises
        ------
        RepositoryError
            The folder is none, or has no model of such a name.
        """
        self._check_open()
        folder = self.repository.add(path)
        there = sorted(models_in(folder))
        if unknown := sorted({*(names or ())} - {*there}):
            raise RepositoryError(
                f"{folder} has no model {', '.join(map(repr, unknown))}; "
                f"it has: {', '.join(there) or 'none'}"
            )
        chosen = there if names is None else dict.fromkeys(names)
        return [self._imported(name, folder) for name in chosen]

    def _imported(self, name: str, folder: Path) -> ModelStatus:
        """Load a model of a folder and return its status, with what went wrong."""
        directory = self.repository.directory(name)
        if directory is not None and directory.path.parent != folder:
            return replace(self.model(name), reason=_HIDDEN)
        try:
            return self.load(name)
        except ModelLoadError as error:
            return replace(
                self.model(name),
                reason=error.reason or error.message,
                advice=error.advice,
            )

    def export_repository(
        self,
        path: str | Path,
        names: Sequence[str] | None = None,
        *,
        force: bool = False,
    ) -> Exported:
        """Write models as a repository that Triton loads, byte for byte.

        Beside them are a ``requirements.txt`` of what they import, and a
        ``README.md`` with the commands that serve them. Each model is written whole
        or stays as it was; one from an earlier export is replaced.

        Parameters
        ----------
        names
            Which models; all of them if None.
        force
            Whether files may be overwritten that no export wrote, or that were
            changed since.

        Returns
        -------
        Exported
            The models, and notes on what is different there.

        Raises
        ------
        RepositoryError
            A model is unknown or not complete, such a file is in the way, or a file
            cannot be read or written.
        """
        exported = self._exported(Path(path).expanduser(), names, force)
        others = filter(self._control.is_overridden, exported.models)
        notes = (*exported.notes, *map(_override_note, others))
        return replace(exported, notes=notes)

    def _exported(
        self, path: Path, names: Sequence[str] | None = None, force: bool = False
    ) -> Exported:
        """Write what the models' folders hold; as `export_repository` else."""
        from blsnb.repository.export import Export, exportable

        standins = self._control.standins.all()
        chosen, left_out = exportable(self.repository, names, standins)
        export = Export(path, self._engine.release, force=force)
        # No definition changes a folder while it is copied.
        with self._control.alone():
            return export.write(chosen, left_out)

    def implied_config(self, name: str, *runs: Run) -> Implied:
        """Return a configuration that fits the tensors of a model in recorded runs.

        An axis whose size differed between calls is -1; with a ``max_batch_size``
        the first axis is the batch. What was not seen stays as it is configured.

        Parameters
        ----------
        runs
            Which; the newest one with a call of the model if there is none.

        Raises
        ------
        ModelConfigError
            No configuration fits, or no tensor was seen.
        RepositoryError
            There is no such model.
        """
        from blsnb.model.implied import implied_config

        traces = [run.trace for run in runs]
        if not traces:
            newest = next(filter(_calls(name), reversed(self.recorder.runs)), None)
            traces = [] if newest is None else [take_trace(newest)]
        calls = [call for trace in traces for call in seen_calls(trace, name)]
        return implied_config(self._written_config(name), calls)

    def _written_config(self, name: str) -> ModelConfig:
        """Return a model's configuration as its author wrote it.

        Of what ``auto_complete_config`` filled in, the batch counts: without it no
        shape can be read.
        """
        from blsnb.model.config import ModelConfig

        directory = self.repository.directory(name)
        if directory is None:
            raise RepositoryError(self.repository.why_none(name)[0])
        message = directory.config().message
        served = self._engine.catalog.config(name)
        if served is not None:
            message.max_batch_size = served.max_batch_size
        return ModelConfig.of(message)


def _override_note(name: str) -> str:
    return (
        f"{name}: it serves with a configuration or files that were given with its "
        "load; what its folder holds was exported"
    )


def _calls(name: str) -> Callable[[RunRecord], bool]:
    """Return the question whether a run has a call of a model."""
    return lambda record: any(call.model.name == name for call in record.calls)
