"""The folders of a server's models on disk: import, export and watch them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from blsnb.arguments import check_flags, check_names, check_path, check_text, path_of
from blsnb.errors import ModelLoadError, RepositoryError
from blsnb.files.interrupts import uninterrupted
from blsnb.parts.following import Following
from blsnb.parts.models import Models
from blsnb.repository.directory import CONFIG_FILE, ModelDirectory
from blsnb.repository.repository import models_in
from blsnb.repository.status import ModelStatus

if TYPE_CHECKING:
    from blsnb.repository.deployment import Deployment
    from blsnb.repository.export import Exported
    from blsnb.repository.imported.write_back import ChangedModel

_HIDDEN = "a model of this name was defined here and hides the one that was imported"


class Folders:
    """Imports, exports and watches folders of models."""

    def __init__(self, models: Models, following: Following) -> None:
        self._models = models
        self._following = following

    def watch(self, name: str) -> None:
        """Reload a model whenever a file of its folder is saved."""
        self._models.lifetime.check_open()
        # Raises unless the model serves.
        self._models.reports.config_text(name)
        self._models.changed_files.watch(name)

    def unwatch(self, name: str) -> None:
        """Stop watching a model, if it is watched."""
        check_text(name=name)
        self._models.changed_files.unwatch(name)

    def load_changed(self) -> dict[str, ModelLoadError | None]:
        """Reload the models of the private folder whose sources changed.

        Sources are Python files and configurations; one change is tried once.

        Returns
        -------
        dict
            The models, each with the error if it did not load; the version that
            served before then still does.
        """
        self._models.lifetime.check_open()
        ours = sorted(models_in(self._models.repository.private_root))
        with self._models.control.alone():
            return self._models.changed_files.load_changed(ours)

    def import_(
        self, path: str | Path, names: Sequence[str] | None, *, watch: bool
    ) -> list[ModelStatus]:
        """Load the models of a repository on disk, where they are."""
        check_path(path=path)
        check_names(names=names)
        check_flags(watch=watch)
        self._models.lifetime.check_open()
        folder = self._models.repository.add(path)
        there = sorted(models_in(folder))
        if unknown := sorted({*(() if names is None else names)} - {*there}):
            raise RepositoryError(
                f"{folder} has no model {', '.join(map(repr, unknown))}; "
                f"it has: {', '.join(there) or 'none'}"
            )
        chosen = there if names is None else dict.fromkeys(names)
        if not watch:
            self._following.unfollow(folder)
            return [self._imported(name, folder) for name in chosen]
        scan = self._following.scan(folder, names)
        statuses = [self._imported(name, folder) for name in chosen]
        self._following.follow(scan)
        return statuses

    def _imported(self, name: str, folder: Path) -> ModelStatus:
        """Load a model of a folder; return its status, with the error, if any."""
        directory = self._models.repository.directory(name)
        if directory is not None and directory.path.parent != folder:
            return replace(self._models.reports.status(name), reason=_HIDDEN)
        try:
            return self._models.load(name)
        except ModelLoadError as error:
            return replace(
                self._models.reports.status(name),
                reason=error.reason or error.message,
                advice=error.advice,
            )

    def export(
        self,
        path: str | Path | None = None,
        names: Sequence[str] | None = None,
        *,
        force: bool,
        in_place: bool = False,
        deploy: str | None = None,
        texts: Mapping[str, Mapping[str, bytes]] = MappingProxyType({}),
    ) -> Exported:
        """Write models as a repository that Triton loads, byte for byte.

        Parameters
        ----------
        texts
            Files with another content, by model and path in its folder.
        """
        check_names(names=names)
        check_flags(force=force, in_place=in_place)
        deployment = self._deployment(deploy)
        if in_place:
            _refuse_in_place(path, deploy)
            return self._export_in_place(names, force)
        exported = self._exported(_target(path), names, force, texts, deployment)
        others = filter(self._models.control.sources.is_overridden, exported.models)
        notes = (*exported.notes, *map(_override_note, others))
        return replace(exported, notes=notes)

    def _deployment(self, image: str | None) -> Deployment | None:
        from blsnb.repository.deployment import Deployment

        if image is None:
            return None
        check_text(deploy=image)
        return Deployment(image, tuple(self._models.engine.settings.arguments()))

    def _export_in_place(self, names: Sequence[str] | None, force: bool) -> Exported:
        """Write what cells changed back into the folders that models come from."""
        from blsnb.repository.export import Exported
        from blsnb.repository.imported.write_back import write_back

        self._models.lifetime.check_open()
        models, notes = self.changed_models(names)
        differences = [line for model in models for line in model.difference()]
        # No definition changes a folder while it is copied.
        with self._models.control.alone():
            uninterrupted(lambda: write_back(models, force=force))
        for model in models:
            paths = [edit.path for edit in model.edits]
            self._following.note_written(model.name, model.derived.folder, paths)
        roots = dict.fromkeys(str(model.derived.folder.parent) for model in models)
        written = Path(os.path.commonpath(roots)) if roots else Path()
        done = tuple(model.name for model in models)
        return Exported(written, done, tuple(notes), "\n".join(differences))

    def changed_models(
        self, names: Sequence[str] | None
    ) -> tuple[list[ChangedModel], list[str]]:
        """Return the models that cells changed, and notes on those left out.

        Raises
        ------
        RepositoryError
            A named model is unknown, or comes from no folder.
        """
        from blsnb.repository.imported.write_back import ChangedModel

        derivations, notes = self._models.repository.derivations, []
        for name in names or ():
            if why := self._why_in_no_folder(name):
                raise RepositoryError(why)
        for name in self._models.repository.names() if names is None else ():
            if self._is_from_cell(name):
                notes.append(f"{self._why_in_no_folder(name)}; it was left out")
        found = []
        for name in derivations.names() if names is None else dict.fromkeys(names):
            derived = derivations.get(name)
            if derived is not None and (edits := derived.edits()):
                cell = self._models.reports.status(name).origin or "cell"
                found.append(ChangedModel(name, cell, derived, edits))
        return found, notes

    def _is_from_cell(self, name: str) -> bool:
        """Whether a model comes from a cell, and from no imported folder."""
        repository = self._models.repository
        is_private = repository.private(name).path.is_dir()
        return is_private and repository.derivations.get(name) is None

    def _why_in_no_folder(self, name: str) -> str:
        """Return why a model cannot be compared with a folder; empty if it can."""
        if self._models.repository.directory(name) is None:
            return " ".join(self._models.repository.why_none(name))
        if not self._is_from_cell(name):
            return ""
        return (
            f"{name}: it comes from a cell, not from an imported folder: write it to "
            f"one with %triton export PATH {name}"
        )

    def _exported(
        self,
        path: Path,
        names: Sequence[str] | None = None,
        force: bool = False,
        others: Mapping[str, Mapping[str, bytes]] = MappingProxyType({}),
        deployment: Deployment | None = None,
    ) -> Exported:
        from blsnb.repository.export import Export, exportable

        repository, standins = self._models.repository, self._models.control.standins
        catalog = self._models.engine.catalog
        unloaded = list(filter(catalog.is_unloaded, repository.names()))
        chosen, left_out = exportable(
            repository, names, standins.descriptions(), unloaded
        )
        derivations = repository.derivations
        # No definition changes a folder while it is copied.
        with self._models.control.alone():
            texts = {
                each.name: derived.restored_texts()
                for each in chosen
                if (derived := derivations.get(each.name)) is not None
            }
            for name, files in others.items():
                texts[name] = {**texts.get(name, {}), **files}
            export = Export(
                path,
                self._models.engine.release,
                force=force,
                texts=texts,
                deployment=deployment,
            )
            exported = export.write(chosen, left_out)
            own = filter(self._is_from_cell, exported.models)
            self._following.note_exported(path.resolve(), {*own})
            return exported

    def export_as_served(
        self, folder: Path, names: Sequence[str] | None = None
    ) -> Exported:
        """Export models, each with the files and configuration that serve.

        Parameters
        ----------
        names
            Names of the models; all that can be exported if None.

        Raises
        ------
        RepositoryError
            A file cannot be read or written.
        """
        control = self._models.control
        sources, serving = control.sources, control.serving()
        others = set(filter(sources.is_overridden, serving))
        if names is not None:
            others &= set(names)
            names = [name for name in names if name not in others]
        exported = self._exported(folder, names)
        done = set(exported.models)
        for name in others:
            served = sources.folder(name)
            if served is not None:
                _replace_by_served(served, folder / name)
                done.add(name)
        return replace(exported, models=tuple(sorted(done)))

    def export_config(self, folder: Path, name: str) -> None:
        """Write a folder with the configuration of a model that serves, and no files.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        config = self._models.engine.catalog.config(name)
        assert config is not None
        for version in self._models.engine.catalog.versions(name):
            (folder / name / str(version)).mkdir(parents=True)
        text = config.to_pbtxt()
        (folder / name / CONFIG_FILE).write_text(text, encoding="utf-8")


def _refuse_in_place(path: str | Path | None, deploy: str | None) -> None:
    """Refuse arguments that have no meaning for an export in place."""
    for name, value in {"path": path, "deploy": deploy}.items():
        if value is not None:
            raise ValueError(
                f"{name}={str(value)!r} and in_place=True exclude each other: in "
                "place, models are written to the folders that they come from"
            )


def _target(path: str | Path | None) -> Path:
    try:
        return path_of(path=path)
    except OSError as error:
        text = f"models cannot be exported to {str(path)!r}: {error.strerror}"
        raise RepositoryError(text) from None


def _override_note(name: str) -> str:
    return (
        f"{name}: it serves with a configuration or files of its load() call, but its "
        "folder was exported"
    )


def _replace_by_served(served: ModelDirectory, folder: Path) -> None:
    """Replace an exported model by the files and configuration that serve."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        served.path, folder, ignore=shutil.ignore_patterns("__pycache__", "configs")
    )
    config = served.config().to_pbtxt()
    (folder / CONFIG_FILE).write_text(config, encoding="utf-8")
