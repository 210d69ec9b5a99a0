"""Load a model's folder: make its versions, or raise Triton's error."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeGuard
from weakref import WeakKeyDictionary

from blsnb.engine.engine import Engine
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.loading.ensembles import EnsembleMaker
from blsnb.engine.loading.instance_factory import InstanceFactory
from blsnb.engine.loading.load_failures import (
    CreateError,
    create_failed,
    no_version,
    out_of_memory,
    poll_failed,
    reason_of,
)
from blsnb.engine.loading.python_instances import InstanceMaker
from blsnb.engine.loading.warmup import WarmUp
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.served import Served
from blsnb.engine.version import ServedVersion
from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.instance_changes import InstanceChanges, needs_no_reload
from blsnb.model.normalization import check_directory_name, normalise
from blsnb.model.rules.tensors import check_tensors
from blsnb.model.rules.validate import validate_poll
from blsnb.pb_utils.logger import server_event
from blsnb.printable import printable
from blsnb.repository.directory import ModelDirectory
from blsnb.trace.events import ModelInfo, Origin

_MAX_ORIGINS = 500


class Origins(dict[str, Origin]):
    """The latest cells of sources, by the source's text."""

    def __setitem__(self, source: str, origin: Origin) -> None:
        self.pop(source, None)
        super().__setitem__(source, origin)
        while len(self) > _MAX_ORIGINS:
            del self[next(iter(self))]


class _Made(NamedTuple):
    """A version and the configuration from which it was made."""

    config: ModelConfig
    """The folder's configuration."""
    maker: InstanceMaker


class Loader:
    """Makes the versions of models.

    Parameters
    ----------
    engine
        Runs the requests of instances.
    factory
        Chooses the maker of a model's instances.
    ensembles
        Makes ensembles, which have no instances.
    """

    def __init__(
        self, engine: Engine, factory: InstanceFactory, ensembles: EnsembleMaker
    ) -> None:
        self._engine = engine
        self._factory = factory
        self._ensembles = ensembles
        self._pool_lock = threading.Lock()
        """Shared by the pools of all models."""
        self.origins = Origins()
        self._made: WeakKeyDictionary[Served, _Made] = WeakKeyDictionary()

    def load(
        self,
        directory: ModelDirectory,
        unchanged: Mapping[int, Served],
        root: RootRequest,
    ) -> dict[int, Served]:
        """Make the versions of a model that its policy selects.

        Parameters
        ----------
        unchanged
            Versions that serve and whose files are unchanged. They are kept, with
            other instances, if only the instance groups differ.
        root
            The lifetime of the load, which Ctrl-C ends.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call; all new versions were discarded.
        """
        config = self.poll(directory)
        if config.is_ensemble:
            config = self._ensembles.complete(config, root)
        numbers = self._factory.numbers(directory, config)
        if not numbers:
            error = no_version(directory, config)
            server_event("E", "Invalid argument: %s", error.reason)
            raise error
        kept = {
            number: version
            for number, version in unchanged.items()
            if number in numbers and self._can_keep(version, config)
        }
        with self._engine.catalog.loading(directory.name, set(numbers)):
            return self._load_versions(directory, config, numbers, kept, root)

    def poll(self, directory: ModelDirectory) -> ModelConfig:
        """Read and check the configuration, as Triton does before it loads.

        Raises
        ------
        ModelLoadError
            At stage ``poll``.
        """
        try:
            if self._engine.settings.strict_model_config:
                directory.check_config_file()
            config = normalise(
                directory.config(),
                model_name=directory.name,
                entries=directory.first_entries(),
                gpu_count=self._engine.placements.gpu_count,
            )
            validate_poll(config, release=self._engine.release)
            if self._engine.settings.strict_model_config:
                check_tensors(config.message)
            check_directory_name(config, directory.name)
        except ModelConfigError as error:
            text = "Poll failed for model directory '%s': %s"
            server_event("E", text, directory.name, error.message)
            raise poll_failed(directory.name, error.message, error.advice) from error
        return config

    def _can_keep(
        self, version: Served, config: ModelConfig
    ) -> TypeGuard[ServedVersion]:
        """Whether a version fits a configuration after changing its instances only."""
        made = self._made.get(version)
        if made is None or not self._engine.schedulers.can_resize(config):
            return False
        return needs_no_reload(made.config, config)

    def _load_versions(
        self,
        directory: ModelDirectory,
        config: ModelConfig,
        numbers: Sequence[int],
        kept: Mapping[int, ServedVersion],
        root: RootRequest,
    ) -> dict[int, Served]:
        """Load all versions, or none if one fails.

        As on Triton, kept versions have their new instances nevertheless.
        """
        loaded: dict[int, Served] = {}
        errors: dict[int, CreateError] = {}
        name = directory.name
        try:
            for number in numbers:
                try:
                    if number not in kept:
                        server_event("I", "loading: %s:%d", name, number)
                    if number in kept:
                        self._change_instances(kept[number], config, root)
                        self._note_unused_files(kept[number], directory)
                        continue
                    version = self._load_version(directory, config, number, root)
                    loaded[number] = version
                except (HookFailed, ModelConfigError) as error:
                    errors[number] = error
                except (MemoryError, OverflowError) as error:
                    errors[number] = out_of_memory(error)
            if errors:
                _log_failures(name, errors)
                raise create_failed(name, numbers, errors, kept) from _taken(errors)
        except BaseException:
            for version in loaded.values():
                version.retire()
            raise
        return {**kept, **loaded}

    def _note_unused_files(
        self, version: ServedVersion, directory: ModelDirectory
    ) -> None:
        """Note for the author that a load with other files kept the old ones."""
        if self._made[version].maker.model_file.is_relative_to(directory.path):
            return
        version.pool.instances[0].notes.warn(
            "given files",
            f"The files given to load {printable(directory.name)!r} are not used: as "
            "on Triton, a model that serves keeps its files while its configuration is "
            "equal, except for instance groups. Unload the model first, or change a "
            "parameter in the configuration.",
        )

    def _change_instances(
        self, version: ServedVersion, config: ModelConfig, root: RootRequest
    ) -> None:
        """Make the missing instances of a version, and remove the superfluous ones.

        References
        ----------
        core: src/backend_model.cc, TritonModel::UpdateInstanceGroup
        """
        maker = self._made[version].maker
        wanted = self._factory.adapted(config)
        present = [instance.spec for instance in version.pool.instances]
        changes = InstanceChanges.between(present, wanted.instance_names())
        try:
            added = maker.make_more(wanted, changes.added, root)
            if added:
                # In a separate version until they are warmed up.
                warming = self._served(maker, version.info.version, added)
                self._warm_up(warming, root)
        except (HookFailed, ModelConfigError) as error:
            version.trouble = reason_of(error)
            raise
        version.change_instances(wanted, changes.kept, added)
        version.trouble = ""

    def _load_version(
        self,
        directory: ModelDirectory,
        config: ModelConfig,
        number: int,
        root: RootRequest,
    ) -> Served:
        if config.is_ensemble:
            return self._ensembles.make(directory, config, number)
        maker = self._factory.maker(directory, number, config)
        version = self._served(maker, number, maker.make_all(root))
        self._warm_up(version, root)
        self._made[version] = _Made(config, maker)
        return version

    def _served(
        self, maker: InstanceMaker, number: int, instances: list[ModelInstance]
    ) -> ServedVersion:
        later = self._engine.workers.run
        pool = InstancePool(instances, self._pool_lock, maker.renew, later)
        try:
            return ServedVersion(
                maker.config,
                self._info(maker, number),
                pool,
                self._engine.schedulers,
                self._engine.cache,
                maker.placement,
            )
        except BaseException:
            pool.retire()
            raise

    def _warm_up(self, version: ServedVersion, root: RootRequest) -> None:
        try:
            WarmUp(version, root, self._engine.recorder).run()
        except BaseException:
            version.retire()
            raise

    def _info(self, maker: InstanceMaker, number: int) -> ModelInfo:
        config, source = maker.config, maker.source
        return ModelInfo(
            config.name,
            number,
            config.backend,
            maker.device,
            maker.kind,
            source,
            self.origins.get(source),
            0 if config.scheduling else config.max_batch_size,
        )


def _log_failures(name: str, errors: Mapping[int, CreateError]) -> None:
    failures = [each for each in errors.values() if isinstance(each, HookFailed)]
    if any(isinstance(each.cause, KeyboardInterrupt) for each in failures):
        # Ctrl-C ends the load; nothing is wrong with the model.
        return
    for number, error in errors.items():
        text = "failed to load '%s' version %d: %s"
        server_event("E", text, name, number, reason_of(error))
    server_event("I", "failed to load '%s'", name)


def _taken(errors: dict[int, CreateError]) -> CreateError:
    """Return the first error, and forget all.

    Their frames refer to this dictionary: arrays of a model that failed, which may fill
    a GPU, would wait for a garbage collection.
    """
    first = next(iter(errors.values()))
    errors.clear()
    return first
