"""InstanceMaker: makes the instances of one model version, or leaves nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from blsnb.engine.engine import Engine
from blsnb.engine.instance.device import on_device
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.placement import Placement
from blsnb.engine.loading.binder import Binder
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import ModelConfigError
from blsnb.model.completion import check_returned, complete
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.model.normalization import normalise
from blsnb.model.rules.validate import validate_create, validate_instances
from blsnb.pb_utils import config as pb_config
from blsnb.repository.directory import ModelDirectory
from blsnb.tensors.memory import HOST

_OWN_THREAD = ("BLSNB_THREAD", "instance")


class Maker(Protocol):
    """Makes the instances of one model version."""

    config: ModelConfig
    """Completed by `make_all`."""
    model_file: Path
    kind: str
    """Of the model, as the trace names it."""

    @property
    def placement(self) -> Placement | None:
        """What moves its tensors; None where there is no device."""

    @property
    def source(self) -> str:
        """The text of its ``model.py``; empty if it has none."""

    @property
    def device(self) -> str:
        """Where it runs, as the trace names it."""

    def make_all(self, root: RootRequest) -> list[ModelInstance]:
        """Complete the configuration, and make every instance that it asks for.

        Raises
        ------
        HookFailed, ModelConfigError
            The model or its configuration is wrong; no instance is left.
        """

    def make_more(
        self, config: ModelConfig, specs: Sequence[InstanceSpec], root: RootRequest
    ) -> list[ModelInstance]:
        """Make further instances, which get the configuration of the first ones.

        Parameters
        ----------
        config
            The new one, with instance groups that ask for them.

        Raises
        ------
        HookFailed, ModelConfigError
            One cannot be made, or the groups are wrong; none of them is left.
        """

    def renew(self, old: ModelInstance) -> ModelInstance:
        """Make an instance that takes over from another of the same name.

        Raises
        ------
        HookFailed
            The model does not load any more.
        """


class InstanceMaker:
    """Makes instances of a Python model from a version's folder.

    Parameters
    ----------
    directory, number
        The model's folder, and which version of it.
    config
        Normalised; `make_all` completes it.
    engine
        Runs the requests that the instances make.
    binder
        Makes what they ask through.
    """

    def __init__(
        self,
        directory: ModelDirectory,
        number: int,
        config: ModelConfig,
        engine: Engine,
        binder: Binder,
    ) -> None:
        self.config = config
        self.kind = "model"
        self.model_file = directory.version_dir(number) / config.default_model_filename
        self._directory = directory
        self._number = number
        self._engine = engine
        self._binder = binder
        self._noted: set[str] = set()

    @property
    def placement(self) -> Placement | None:
        """What moves its tensors; None where there is no device."""
        return self._engine.placements.of(self.config)

    @property
    def source(self) -> str:
        """The text of ``model.py``, whatever its bytes are."""
        return self.model_file.read_text(encoding="utf-8", errors="replace")

    @property
    def device(self) -> str:
        """``"cpu"``, ``"gpu:0"``, or ``"gpu:0,1"`` where it has instances on both."""
        specs = self.config.instance_names()
        numbers = sorted({spec.device_id for spec in specs if spec.kind == "GPU"})
        return f"gpu:{','.join(map(str, numbers))}" if numbers else HOST

    def make_all(self, root: RootRequest) -> list[ModelInstance]:
        """Complete the configuration, and make every instance that it asks for.

        The first import serves as the first instance, unless the model completed
        its configuration in it: on Triton that happens in a process of its own.

        Parameters
        ----------
        root
            The life of this load, which Ctrl-C ends.

        Raises
        ------
        HookFailed, ModelConfigError
            The model or its configuration is wrong; no instance is left.
        """
        with all_or_nothing() as made:
            return self._make_all(made, root)

    def _make_all(
        self, made: list[ModelInstance], root: RootRequest
    ) -> list[ModelInstance]:
        gpu_count = self._engine.placements.gpu_count
        validate_instances(self.config, gpu_count=gpu_count)
        self._check_file()
        spare = self._imported(self.config.instance_names()[0], made, root)
        completes = spare.completes_config and not self._engine.strict_model_config
        if completes:
            self._complete(spare)
        validate_create(
            self.config, model_dir=self._directory.path, gpu_count=gpu_count
        )
        instances = []
        for spec in self.config.instance_names():
            reuse = spare.name == spec.name and not completes
            instance = spare if reuse else self._imported(spec, made, root)
            instance.initialize(self._args(spec))
            instances.append(instance)
        if spare not in instances:
            spare.discard()
        return instances

    def _check_file(self) -> None:
        if not self.model_file.is_file():
            raise HookFailed(f"Python model file not found in '{self.model_file}'")
        if self.model_file.suffix != ".py":
            name = self.model_file.name
            raise HookFailed(
                f"Model name must end with '.py'. Model name is \"{name}\"."
            )

    def _imported(
        self,
        spec: InstanceSpec,
        made: list[ModelInstance],
        root: RootRequest | None = None,
    ) -> ModelInstance:
        name, value = _OWN_THREAD
        own_thread = self.config.parameters.get(name) == value
        instance = ModelInstance(
            spec.name,
            self.model_file,
            self._binder.of(self.config.name),
            self._engine.release,
            own_thread,
            root,
        )
        made.append(instance)
        instance.spec = spec
        instance.noted = self._noted
        instance.on_device = on_device(self._engine.placements.runtime, spec)
        instance.load()
        return instance

    def make_more(
        self, config: ModelConfig, specs: Sequence[InstanceSpec], root: RootRequest
    ) -> list[ModelInstance]:
        """Make further instances, which get the configuration of the first ones.

        Raises
        ------
        HookFailed, ModelConfigError
            One cannot be made, or the groups are wrong; none of them is left.
        """
        validate_instances(config, gpu_count=self._engine.placements.gpu_count)
        with all_or_nothing() as made:
            for spec in specs:
                self._imported(spec, made, root).initialize(self._args(spec))
            return list(made)

    def _complete(self, spare: ModelInstance) -> None:
        name = self.config.name
        returned = spare.auto_complete(pb_config.ModelConfig(self.config.to_json()))
        checked = check_returned(name, returned)
        try:
            completed = complete(self.config, checked)
        except ModelConfigError:
            if not self._directory.is_configured:
                raise
            # Triton then goes on with what the folder says, and nothing else.
            return
        gpu_count = self._engine.placements.gpu_count
        self.config = normalise(completed, model_name=name, gpu_count=gpu_count)

    def renew(self, old: ModelInstance) -> ModelInstance:
        """Make an instance that takes over from another of the same name.

        Raises
        ------
        HookFailed
            The model does not load any more.
        """
        with all_or_nothing() as made:
            fresh = self._imported(old.spec, made)
            fresh.initialize(self._args(old.spec))
            return fresh

    def _args(self, spec: InstanceSpec) -> dict[str, str]:
        """Return what ``initialize`` receives: strings only."""
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
    """Give a list for what is made; if that fails, discard all of it."""
    made: list[ModelInstance] = []
    try:
        yield made
    except BaseException:
        for instance in made:
            # On Triton what has initialized is finalized, though it never served.
            end = instance.finalize if instance.ready else instance.discard
            end()
        raise
