"""Export models as a repository that a real server loads."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from blsnb.errors import RepositoryError
from blsnb.files.interrupts import uninterrupted
from blsnb.files.owned import locked
from blsnb.files.whole import whole_file
from blsnb.printable import counted, listed, printable
from blsnb.repository.copying import ModelCopy, complete_locked, contents
from blsnb.repository.deployment import Deployment
from blsnb.repository.directory import ModelDirectory
from blsnb.repository.manifest import Manifest, digest_of, files_below
from blsnb.repository.repository import ModelRepository
from blsnb.repository.requirements import REQUIREMENTS, requirements_text
from blsnb.repository.serving_readme import (
    README,
    export_notes,
    path_notes,
    readme_text,
    release_notes,
    wants_gpu,
)

_MAX_NAMED = 5
"""Maximum number of files that an error names."""
_LOCK_TIMEOUT_S = 30.0
"""Maximum wait for another export to the same folder."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Parameters
    ----------
    path
        The folder.
    models
        Names of the exported models, sorted.
    notes
        Differences and limitations on a Triton server.
    """

    path: Path
    models: tuple[str, ...]
    notes: tuple[str, ...]
    difference: str = ""
    """What an export in place changed in the folder, as a unified difference."""

    def __repr__(self) -> str:
        models = counted(len(self.models), "model")
        return printable(f"<{models} exported to {self.path}>")


class Export:
    """Writes models into a folder, each completely or not at all.

    A file in the folder that no export wrote, or that was changed since, is foreign:
    it is overwritten only with `force`. A model that an export wrote is replaced as a
    whole. Nothing is written through a link.

    Parameters
    ----------
    target
        The folder; created if missing.
    release
        The Triton release that will serve it.
    force
        Whether to overwrite foreign files.
    texts
        Files whose content is another in the export, by model and path in it.
    deployment
        The container image of the models; None for no image.
    """

    def __init__(
        self,
        target: Path,
        release: tuple[int, int],
        *,
        force: bool = False,
        texts: Mapping[str, Mapping[str, bytes]] = MappingProxyType({}),
        deployment: Deployment | None = None,
    ) -> None:
        self._target = target
        self._release = release
        self._force = force
        self._texts = texts
        self._deployment = deployment

    def write(
        self, directories: Sequence[ModelDirectory], notes: Sequence[str] = ()
    ) -> Exported:
        """Write models, requirements.txt, README.md and the files of the deployment.

        Parameters
        ----------
        notes
            Further notes for the result.

        Raises
        ------
        RepositoryError
            A foreign file is in the way, and nothing was written; or a file cannot be
            read or written, and its model is unchanged.
        """
        return uninterrupted(lambda: self._exported(directories, notes))

    def _exported(
        self, directories: Sequence[ModelDirectory], notes: Sequence[str]
    ) -> Exported:
        _refuse_in_itself(self._target, directories)
        done: list[str] = []
        try:
            self._target.mkdir(parents=True, exist_ok=True)
            with locked(self._target, _LOCK_TIMEOUT_S) as is_locked:
                if is_locked:
                    complete_locked(self._target.resolve())
                manifest = self._write_all(directories, done)
        except OSError as error:
            raise self._failed(error, done, directories) from error
        found = [*notes, *(note for each in directories for note in export_notes(each))]
        found += path_notes(self._target)
        found += release_notes(self._target / REQUIREMENTS, self._release)
        found += self._other_folders(manifest)
        return Exported(self._target, tuple(done), tuple(found))

    def _write_all(
        self, directories: Sequence[ModelDirectory], done: list[str]
    ) -> Manifest:
        """Write models and own files; add the names of complete models to ``done``."""
        manifest = Manifest.read(self._target)
        if not self._force:
            self._refuse_foreign(manifest, directories)
        try:
            for directory in directories:
                self._write_model(manifest, directory)
                done.append(directory.name)
            self._write_own_files(manifest)
        finally:
            Manifest.settle(self._target)
        return manifest

    def _refuse_foreign(
        self, manifest: Manifest, directories: Sequence[ModelDirectory]
    ) -> None:
        foreign: list[str] = []
        for directory in directories:
            foreign += self._foreign_files(manifest, directory)
        for name in (README, REQUIREMENTS, *self._deployment_files(gpu=False)):
            there = os.path.lexists(self._target / name)
            if there and not manifest.is_ours(self._target, name):
                foreign.append(name)
        if foreign:
            raise RepositoryError(
                f"{listed(foreign, _MAX_NAMED)} in {self._target}: not written by an "
                "export, or changed since. Nothing was written. Export elsewhere, move "
                "them away, or overwrite them with --force (force=True)."
            )

    def _foreign_files(
        self, manifest: Manifest, directory: ModelDirectory
    ) -> list[str]:
        """Return the files that a model would overwrite."""
        folder = self._target / directory.name
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            return [directory.name]
        ours = contents(directory.path)
        foreign = []
        for file in sorted(files_below(folder)):
            inner = file.relative_to(folder).as_posix()
            source = ours.get(inner)
            path = f"{directory.name}/{inner}"
            if not _same(source, file) and not manifest.is_ours(self._target, path):
                foreign.append(path)
        return foreign

    def _write_model(self, manifest: Manifest, directory: ModelDirectory) -> None:
        name = directory.name

        def by_path(digests: Mapping[str, str]) -> dict[str, str]:
            return {f"{name}/{path}": digest for path, digest in digests.items()}

        def announce(digests: Mapping[str, str]) -> None:
            manifest.expect(by_path(digests))
            manifest.save(self._target)

        texts = self._texts.get(name, {})
        written = ModelCopy(directory, self._target.resolve(), texts).write(announce)
        manifest.replace(name, by_path(written))
        manifest.save(self._target)

    def _write_own_files(self, manifest: Manifest) -> None:
        """Write the export's own files; they describe models of earlier ones, too."""
        known = sorted(manifest.models())
        folders = [self._target / name for name in known]
        folders = [folder for folder in folders if folder.is_dir()]
        gpu = any(map(wants_gpu, map(ModelDirectory, folders)))
        readme = readme_text(folders, self._release)
        if self._deployment is not None:
            readme += self._deployment.readme(gpu=gpu)
        files = {
            REQUIREMENTS: requirements_text(folders),
            README: readme,
            **self._deployment_files(gpu=gpu),
        }
        for name, text in files.items():
            self._write_own_file(manifest, name, text.encode("utf-8"))
        manifest.save(self._target)

    def _deployment_files(self, *, gpu: bool) -> Mapping[str, str]:
        if self._deployment is None:
            return {}
        return self._deployment.texts(self._release, gpu=gpu)

    def _write_own_file(self, manifest: Manifest, name: str, content: bytes) -> None:
        written = {name: hashlib.sha256(content).hexdigest()}
        manifest.expect(written)
        manifest.save(self._target)
        with whole_file(self._target / name) as partial:
            partial.write_bytes(content)
        manifest.replace(name, written)

    def _other_folders(self, manifest: Manifest) -> list[str]:
        """Return a note on each folder that no export wrote, hidden ones included."""
        there = {entry.name for entry in self._target.iterdir() if entry.is_dir()}
        return [
            f"{name}: this folder is there too, and Triton takes it for a model"
            for name in sorted(there - manifest.models())
        ]

    def _failed(
        self, error: OSError, done: list[str], directories: Sequence[ModelDirectory]
    ) -> RepositoryError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full" if full else str(error)
        left = [each.name for each in directories[len(done) :]]
        parts = [f"the export to {self._target} ended early: {what}."]
        if done:
            parts.append(f"Exported: {', '.join(done)}.")
        if left:
            parts.append(f"As before: {', '.join(left)}.")
        parts.append(
            "Free some space, and export again."
            if full
            else "Export to a folder that you may write, or that does not exist yet."
        )
        return RepositoryError(" ".join(parts))


def _refuse_in_itself(target: Path, directories: Sequence[ModelDirectory]) -> None:
    """Refuse a target that would be copied into itself, or replaced by its copy."""
    # Path.resolve() fails at links in a circle.
    folder = Path(os.path.realpath(target))
    for directory in directories:
        source = directory.path.resolve()
        if folder == source.parent or folder.is_relative_to(source):
            raise RepositoryError(
                f"{target} is where model {directory.name!r} comes from; export it to "
                "another folder, or write what cells changed with --in-place "
                "(in_place=True)"
            )


def _same(source: Path | None, file: Path) -> bool:
    if source is None or not source.is_file():
        return False
    # Links in the model are followed; a link in the target is foreign.
    return digest_of(source.resolve()) == digest_of(file)


def exportable(
    repository: ModelRepository,
    names: Sequence[str] | None = None,
    standins: Mapping[str, str] = MappingProxyType({}),
    unloaded: Collection[str] = (),
) -> tuple[list[ModelDirectory], list[str]]:
    """Return the models to export, and notes on the models that are left out.

    Parameters
    ----------
    names
        Names of the models; all that can be exported if None.
    standins
        Descriptions of stand-ins, by the models that they replace.
    unloaded
        Models that were unloaded: they are left out unless they are named.

    Raises
    ------
    RepositoryError
        A named model cannot be exported.
    """
    chosen: list[ModelDirectory] = []
    reasons: list[str] = []
    for name in repository.names() if names is None else dict.fromkeys(names):
        directory = repository.directory(name)
        reason = _why_not(repository, name)
        if not reason and name in standins:
            reason = (
                f"a stand-in replaces it ({standins[name]}), so the model itself never "
                "ran here; unload the stand-in first"
            )
        if not reason and names is None and name in unloaded:
            reason = "it is unloaded"
        if directory is not None and not reason:
            chosen.append(directory)
        else:
            reasons.append(f"{name}: {reason}")
    if reasons and names is not None:
        raise RepositoryError(f"cannot export {'; '.join(reasons)}")
    return chosen, [f"{reason}; it was left out" for reason in reasons]


def _why_not(repository: ModelRepository, name: str) -> str:
    directory = repository.directory(name)
    if directory is None:
        return f"there is no such model; there are: {repository.known_names(name)}"
    if not directory.versions and not os.path.isfile(directory.config_file):
        return "the folder has neither a version nor a configuration"
    if not directory.has_model_file() and not os.path.isfile(directory.config_file):
        return "it has no model.py yet"
    return ""
