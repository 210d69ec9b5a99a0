"""Instances of Python models, and the interface of all instance makers."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from blsnb.engine.engine import Engine
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.model_notes import note_of_argv
from blsnb.engine.instance.placement import Placement, on_device
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import ModelConfigError
from blsnb.model.completion import check_ignored, check_returned, complete
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.model.normalization import normalise
from blsnb.model.rules.plugins import check_runtime
from blsnb.model.rules.validate import (
    validate_completed,
    validate_create,
    validate_instances,
)
from blsnb.pb_utils import config as pb_config
from blsnb.pb_utils.backend import EngineCalls
from blsnb.pb_utils.compiled.releases import Release, has
from blsnb.pb_utils.logger import server_event
from blsnb.repository.directory import ModelDirectory
from blsnb.repository.execution_environment import (
    PARAMETER,
    EnvironmentPathError,
    environment_note,
)
from blsnb.tensors.memory import HOST

_OWN_THREAD = ("BLSNB_THREAD", "instance")
_BLANKS = frozenset(" \t\n")
_SHELL_CHARACTERS = frozenset(";|&$`()[]{}<>\\'\"*?~#!")


class VersionLoad(NamedTuple):
    """A version to load, and what its instances need."""

    directory: ModelDirectory
    number: int
    config: ModelConfig
    """Normalised; `InstanceMaker.make_all` completes it."""
    engine: Engine
    """The release, the devices, and the strictness of configurations."""
    bind: Callable[[ModelInstance], EngineCalls]
    """Makes the backend of an instance."""


class InstanceMaker(abc.ABC):
    """Makes the instances of one model version."""

    kind = "model"
    """Kind of the model in the trace."""

    def __init__(self, load: VersionLoad) -> None:
        self._directory, self._number, self.config, self._engine, self._bind = load
        self._version = self._directory.version_dir(self._number)
        self.model_file = self._version / (
            self.config.default_model_filename or "model"
        )
        self._noted: set[str] = set()
        """Subjects of the notes that an instance has made."""

    @property
    @abc.abstractmethod
    def placement(self) -> Placement | None:
        """Moves tensors to the model's device; None without a device."""

    @property
    @abc.abstractmethod
    def source(self) -> str:
        """The text of ``model.py``; empty for other backends."""

    @property
    @abc.abstractmethod
    def device(self) -> str:
        """Device of the instances in the trace."""

    @abc.abstractmethod
    def make_all(self, root: RootRequest) -> list[ModelInstance]:
        """Complete the configuration and make all of its instances.

        Parameters
        ----------
        root
            The lifetime of the load, which Ctrl-C ends.

        Raises
        ------
        HookFailed, ModelConfigError
            The model or its configuration is wrong; no instance is left.
        """

    def make_more(
        self, config: ModelConfig, specs: Sequence[InstanceSpec], root: RootRequest
    ) -> list[ModelInstance]:
        """Make further instances with the configuration of the first ones.

        Parameters
        ----------
        config
            The new configuration, with other instance groups.

        Raises
        ------
        HookFailed, ModelConfigError
            An instance fails or the groups are wrong; no new instance is left.
        """
        self._check_groups(config)
        with all_or_nothing() as made:
            for spec in specs:
                self._make(spec, made, root)
            return list(made)

    def renew(self, old: ModelInstance) -> ModelInstance:
        """Make an instance that replaces another of the same name.

        Raises
        ------
        HookFailed
            The model no longer loads.
        """
        with all_or_nothing() as made:
            self._make(old.spec, made, None)
            return made[0]

    @abc.abstractmethod
    def _check_groups(self, config: ModelConfig) -> None:
        """Check the instance groups of a configuration."""

    @abc.abstractmethod
    def _make(
        self, spec: InstanceSpec, made: list[ModelInstance], root: RootRequest | None
    ) -> None:
        """Append an instance, and initialize it."""


class PythonInstanceMaker(InstanceMaker):
    """Makes the instances of one version of a Python model."""

    @property
    def placement(self) -> Placement | None:
        """Moves tensors to the model's device; None without a device."""
        return self._engine.placements.of(self.config)

    @property
    def source(self) -> str:
        """The text of ``model.py``; invalid bytes are replaced."""
        return self.model_file.read_text(encoding="utf-8", errors="replace")

    @property
    def device(self) -> str:
        """``"cpu"``, ``"gpu:0"``, or ``"gpu:0,1"`` for instances on several GPUs."""
        specs = self.config.instance_names()
        numbers = sorted({spec.device_id for spec in specs if spec.kind == "GPU"})
        return f"gpu:{','.join(map(str, numbers))}" if numbers else HOST

    def make_all(self, root: RootRequest) -> list[ModelInstance]:
        """Complete the configuration and make all of its instances.

        The first import becomes the first instance, unless the model completed its
        configuration in it: Triton does that in a process of its own.
        """
        with all_or_nothing() as made:
            return self._make_all(made, root)

    def _make_all(
        self, made: list[ModelInstance], root: RootRequest
    ) -> list[ModelInstance]:
        engine = self._engine
        gpu_count = engine.placements.gpu_count
        check_runtime(self.config.message, self._version)
        _check_stub_names(self.config, engine.release)
        self._check_groups(self.config)
        differences = self._check_environment()
        self._check_file()
        first = self._imported(self.config.instance_names()[0], made, root)
        completes = first.completes_config and not engine.settings.strict_model_config
        if completes:
            self._complete(first)
        validate_create(
            self.config, model_dir=self._directory.path, gpu_count=gpu_count
        )
        instances: list[ModelInstance] = []
        for spec in self.config.instance_names():
            reuse = not (completes or instances)
            instance = first if reuse else self._imported(spec, made, root)
            text = "TRITONBACKEND_ModelInstanceInitialize: %s (%s device %d)"
            server_event("I", text, spec.name, spec.kind, spec.device_id)
            instance.initialize(self._args(spec))
            instances.append(instance)
        if completes:
            first.discard()
        if differences:
            instances[0].notes.warn(PARAMETER, differences)
        if note := note_of_argv(self.source):
            instances[0].notes.warn("sys.argv", note)
        return instances

    def _check_environment(self) -> str:
        """Check `EXECUTION_ENV_PATH`; return how its packages differ."""
        value = self.config.parameters.get(PARAMETER, "")
        try:
            return environment_note(self._directory.name, value, self._directory.path)
        except EnvironmentPathError as error:
            raise HookFailed(str(error), error) from error

    def _check_file(self) -> None:
        if not self.model_file.is_file():
            raise HookFailed(f"Python model file not found in '{self.model_file}'")
        if self.model_file.suffix != ".py":
            name = self.model_file.name
            raise HookFailed(
                f"Model name must end with '.py'. Model name is \"{name}\"."
            )

    def _imported(
        self, spec: InstanceSpec, made: list[ModelInstance], root: RootRequest | None
    ) -> ModelInstance:
        name, value = _OWN_THREAD
        own_thread = self.config.parameters.get(name) == value
        release = self._engine.release
        instance = ModelInstance(
            spec.name, self.model_file, self._bind, release, own_thread, root
        )
        made.append(instance)
        instance.spec = spec
        instance.notes.subjects = self._noted
        instance.device = on_device(self._engine.placements.runtime, spec)
        if instance.device is not None:
            instance.around = instance.device.execute
        instance.load()
        return instance

    def _check_groups(self, config: ModelConfig) -> None:
        validate_instances(config, gpu_count=self._engine.placements.gpu_count)

    def _make(
        self, spec: InstanceSpec, made: list[ModelInstance], root: RootRequest | None
    ) -> None:
        self._imported(spec, made, root).initialize(self._args(spec))

    def _complete(self, instance: ModelInstance) -> None:
        """Let the model complete its configuration."""
        name = self.config.name
        returned = instance.auto_complete(pb_config.ModelConfig(self.config.to_json()))
        document = instance.json_of(check_returned(name, returned))
        try:
            completed = complete(self.config, document)
        except ModelConfigError as error:
            if error.code != "NOT_FOUND" or not self._directory.is_configured:
                raise
            # Triton then ignores the completion and takes the folder's configuration.
            check_ignored(document)
            return
        gpu_count = self._engine.placements.gpu_count
        self.config = normalise(completed, model_name=name, gpu_count=gpu_count)
        validate_completed(self.config)

    def _args(self, spec: InstanceSpec) -> dict[str, str]:
        """Return the arguments of ``initialize``: strings only."""
        return {
            "model_config": self.config.to_json(),
            "model_instance_kind": spec.kind,
            "model_instance_name": spec.name,
            "model_instance_device_id": str(spec.device_id),
            "model_repository": str(self._directory.path),
            "model_version": str(self._number),
            "model_name": self._directory.name,
        }


@contextlib.contextmanager
def all_or_nothing() -> Iterator[list[ModelInstance]]:
    """Yield a list for new instances; discard all of them if the block fails."""
    made: list[ModelInstance] = []
    try:
        yield made
    except BaseException:
        for instance in made:
            # Triton finalizes an initialized instance even if it never served.
            end = instance.finalize if instance.ready else instance.discard
            end()
        raise


def _check_stub_names(config: ModelConfig, release: Release) -> None:
    """Refuse a model or instance name that Triton's shell would split or act on.

    References
    ----------
    python_backend: src/stub_launcher.cc, StubLauncher::Launch
    """
    names = (config.name, *(spec.name for spec in config.instance_names()))
    for name in names:
        if _BLANKS.intersection(name):
            raise ModelConfigError(
                f"the name {name!r} contains white space",
                stage="create",
                advice="Triton's shell splits it, so that no load succeeds. Rename "
                "the model, or its instance group.",
            )
        if not has("checked_stub_names", release):
            continue
        if found := sorted(_SHELL_CHARACTERS.intersection(name)):
            raise ModelConfigError(
                "Invalid stub name: contains invalid characters",
                stage="create",
                advice=f"The name {name!r} has {' '.join(found)}, which a shell would "
                "act on. Rename the model, or its instance group.",
            )
