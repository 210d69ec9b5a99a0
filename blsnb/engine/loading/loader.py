"""Loader: from a model's folder to versions that serve, or Triton's text why not."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeGuard
from weakref import WeakKeyDictionary

from blsnb.engine.engine import Engine
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.loading.ensemble_version import EnsembleMaker
from blsnb.engine.loading.instance_factory import Makers
from blsnb.engine.loading.load_failures import (
    CreateError,
    create_failed,
    no_version,
    poll_failed,
    reason_of,
)
from blsnb.engine.loading.python_instances import Maker
from blsnb.engine.loading.warmup import WarmUp
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.served import Served
from blsnb.engine.version import ServedVersion
from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig
from blsnb.model.instance_changes import InstanceChanges, differ_in_instances_only
from blsnb.model.normalization import normalise
from blsnb.model.rules.tensors import check_tensors
from blsnb.model.rules.validate import validate_poll
from blsnb.pb_utils.compiled.releases import has
from blsnb.repository.directory import ModelDirectory
from blsnb.trace.events import ModelInfo, Origin

_SHELL_CHARACTERS = frozenset(";|&$`()[]{}<>\\'\"*?~#!")
_MOST_ORIGINS = 500


class Origins(dict[str, Origin]):
    """Cells by the text of the source that came from them; of many, the latest."""

    def __setitem__(self, source: str, origin: Origin) -> None:
        self.pop(source, None)
        super().__setitem__(source, origin)
        while len(self) > _MOST_ORIGINS:
            del self[next(iter(self))]


class _Beginning(NamedTuple):
    """What a version was made from: its folder's configuration, and by whom."""

    config: ModelConfig
    maker: Maker


class Loader:
    """Makes instances of models.

    Parameters
    ----------
    engine
        Runs the requests that instances make.
    makers
        Choose what makes a model's instances.
    ensembles
        Makes what has no instances.
    """

    def __init__(
        self, engine: Engine, makers: Makers, ensembles: EnsembleMaker
    ) -> None:
        self._engine = engine
        self.makers = makers
        self._ensembles = ensembles
        self._pool_lock = threading.Lock()
        """One for the waits of all models."""
        self.origins = Origins()
        """The cell that a source came from, by its text."""
        self._beginnings: WeakKeyDictionary[Served, _Beginning] = WeakKeyDictionary()

    def load(
        self,
        directory: ModelDirectory,
        unchanged: Mapping[int, Served],
        root: RootRequest,
    ) -> dict[int, Served]:
        """Make every version of a model that its policy asks for.

        Parameters
        ----------
        unchanged
            Versions that serve, and whose files are as they were. Where no more than
            the instance groups are others, they stay: instances come and go.
        root
            The life of this load, which Ctrl-C ends.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call; nothing of the model is left.
        """
        config = self.poll(directory)
        if config.is_ensemble:
            config = self._ensembles.complete(config, root)
        numbers = self.makers.numbers(directory, config)
        if not numbers:
            raise no_version(directory.name)
        staying = {
            number: version
            for number, version in unchanged.items()
            if number in numbers and self._may_stay(version, config)
        }
        return self._load_versions(directory, config, numbers, staying, root)

    def _may_stay(
        self, version: Served, config: ModelConfig
    ) -> TypeGuard[ServedVersion]:
        """Whether a version can become what a configuration asks for."""
        beginning = self._beginnings.get(version)
        if beginning is None or not self._engine.schedulers.can_resize(config):
            return False
        return differ_in_instances_only(beginning.config, config)

    def _load_versions(
        self,
        directory: ModelDirectory,
        config: ModelConfig,
        numbers: Sequence[int],
        staying: Mapping[int, ServedVersion],
        root: RootRequest,
    ) -> dict[int, Served]:
        """Load every version, or none: one that fails takes the others along.

        What stays has its new instances nevertheless, as on Triton.
        """
        loaded: dict[int, Served] = {}
        errors: dict[int, CreateError] = {}
        try:
            for number in numbers:
                try:
                    if number in staying:
                        self._change_instances(staying[number], config, root)
                        continue
                    version = self._load_version(directory, config, number, root)
                    loaded[number] = version
                except (HookFailed, ModelConfigError) as error:
                    errors[number] = error
            if errors:
                first = next(iter(errors.values()))
                raise create_failed(directory.name, numbers, errors, staying) from first
        except BaseException:
            for version in loaded.values():
                version.retire()
            raise
        return {**staying, **loaded}

    def _change_instances(
        self, version: ServedVersion, config: ModelConfig, root: RootRequest
    ) -> None:
        """Make the instances that are missing, and end those that are too many.

        References
        ----------
        core: src/backend_model.cc, TritonModel::UpdateInstanceGroup
        """
        maker = self._beginnings[version].maker
        wanted = self.makers.fitted(config)
        present = [instance.spec for instance in version.pool.instances]
        changes = InstanceChanges.between(present, wanted.instance_names())
        try:
            added = maker.make_more(wanted, changes.added, root)
            if added:
                # On their own until they are warm.
                apart = self._served(maker, version.info.version, added)
                self._warm_up(apart, root)
        except (HookFailed, ModelConfigError) as error:
            version.trouble = reason_of(error)
            raise
        version.change_instances(wanted, changes.kept, added)
        version.trouble = ""

    def poll(self, directory: ModelDirectory) -> ModelConfig:
        """Read and check the configuration, as Triton does before it loads.

        Raises
        ------
        ModelLoadError
            At stage ``poll``.
        """
        try:
            if self._engine.strict_model_config:
                directory.check_config_file()
            config = normalise(
                directory.config(),
                model_name=directory.name,
                entries=directory.first_entries(),
                gpu_count=self._engine.placements.gpu_count,
            )
            validate_poll(config, release=self._engine.release)
            if self._engine.strict_model_config:
                check_tensors(config.message)
        except ModelConfigError as error:
            raise poll_failed(directory.name, error.message, error.advice) from error
        return config

    def _load_version(
        self,
        directory: ModelDirectory,
        config: ModelConfig,
        number: int,
        root: RootRequest,
    ) -> Served:
        if config.is_ensemble:
            return self._ensembles.make(directory, config, number)
        maker = self.makers.make(directory, number, config)
        if has("checked_stub_names", self._engine.release):
            _check_stub_names(config)
        instances = maker.make_all(root)
        version = self._served(maker, number, instances)
        self._warm_up(version, root)
        self._beginnings[version] = _Beginning(config, maker)
        return version

    def _served(
        self, maker: Maker, number: int, instances: list[ModelInstance]
    ) -> ServedVersion:
        pool = InstancePool(instances, self._pool_lock, maker.renew)
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

    def _info(self, maker: Maker, number: int) -> ModelInfo:
        config = maker.config
        source = maker.source
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


def _check_stub_names(config: ModelConfig) -> None:
    """Refuse a name that Triton would not pass to a shell.

    Raises
    ------
    ModelConfigError
        The model, or an instance of it, has such a name.

    References
    ----------
    python_backend: src/stub_launcher.cc, StubLauncher::Launch
    """
    if config.backend != "python":
        return
    names = (config.name, *(spec.name for spec in config.instance_names()))
    for name in names:
        if found := sorted(_SHELL_CHARACTERS.intersection(name)):
            raise ModelConfigError(
                "Invalid stub name: contains invalid characters",
                stage="create",
                advice=f"The name {name!r} has {' '.join(found)}, which a shell would "
                "act on. Rename the model, or its instance group.",
            )
