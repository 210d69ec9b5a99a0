"""LeafMaker: makes the instances of a model that has another backend than Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from blsnb.backends.backend import Backend
from blsnb.engine.engine import Engine
from blsnb.engine.instance.backend_instance import LeafInstance
from blsnb.engine.instance.inputs import Reshapes
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.placement import Placement
from blsnb.engine.loading.binder import Binder
from blsnb.engine.loading.python_instances import all_or_nothing
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import BackendError, ModelConfigError
from blsnb.model.completion import complete
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.model.normalization import normalise
from blsnb.model.rules.validate import validate_create, validate_instances
from blsnb.repository.directory import ModelDirectory

T = TypeVar("T")


class LeafMaker:
    """Makes instances of one model version.

    Parameters
    ----------
    backend
        Does the work.
    directory, number
        The model's folder, and which version of it.
    config
        Normalised; `make_all` completes it.
    engine, binder
        For the instances' log.
    kind
        Of the model, as the trace names it.
    around
        Makes what turns tensors into the shapes that clients see, if the work is
        done with those.
    """

    source = ""
    """There is no text to show."""

    def __init__(
        self,
        backend: Backend,
        directory: ModelDirectory,
        number: int,
        config: ModelConfig,
        engine: Engine,
        binder: Binder,
        kind: str = "model",
        around: Callable[[ModelConfig], Reshapes] | None = None,
    ) -> None:
        self.config = config
        self.kind = kind
        self._version = directory.version_dir(number)
        self.model_file = self._version / (config.default_model_filename or "model")
        self._backend = backend
        self._model_dir: Path = directory.path
        self._around = around
        self._release = engine.release
        self._bind = binder.of(config.name)
        self._placements = engine.placements

    @property
    def placement(self) -> Placement | None:
        """What brings its inputs to the host; None where there is no device."""
        return self._placements.of(self.config, host_only=True)

    @property
    def device(self) -> str:
        """``"cpu"``; of a stand-in that it is one, since it runs on none."""
        return "cpu" if self.kind == "model" else self.kind

    def make_all(self, root: RootRequest) -> list[ModelInstance]:
        """Complete the configuration, and make every instance that it asks for.

        Raises
        ------
        HookFailed, ModelConfigError
            The model or its configuration is wrong; no instance is left.
        """
        backends = (self.config.backend,)
        count = self._placements.gpu_count
        validate_instances(self.config, backends=backends, gpu_count=count)
        completed = _told(lambda: self._backend.complete(self.config, self._version))
        config = complete(self.config, completed.to_dict())
        self.config = normalise(config, model_name=config.name, gpu_count=count)
        validate_create(
            self.config, model_dir=self._model_dir, gpu_count=count, backends=backends
        )
        return self._all_made(self.config.instance_names(), root)

    def make_more(
        self, config: ModelConfig, specs: Sequence[InstanceSpec], root: RootRequest
    ) -> list[ModelInstance]:
        """Make further instances, which get the configuration of the first ones.

        Raises
        ------
        HookFailed, ModelConfigError
            One cannot be made, or the groups are wrong; none of them is left.
        """
        backends, count = (self.config.backend,), self._placements.gpu_count
        validate_instances(config, backends=backends, gpu_count=count)
        return self._all_made(specs, root)

    def _all_made(
        self, specs: Sequence[InstanceSpec], root: RootRequest
    ) -> list[ModelInstance]:
        with all_or_nothing() as made:
            for spec in specs:
                made.append(_told(partial(self._made, spec, root)))
            return list(made)

    def renew(self, old: ModelInstance) -> ModelInstance:
        """Make an instance that takes over from another of the same name.

        Raises
        ------
        HookFailed
            The model does not load any more.
        """
        try:
            return self._made(old.spec, None)
        except BackendError as error:
            raise HookFailed(error.text, error) from error

    def _made(self, spec: InstanceSpec, root: RootRequest | None) -> ModelInstance:
        config = self.config
        instance = LeafInstance(
            spec.name,
            self.model_file,
            self._bind,
            self._release,
            lambda: self._backend.instance(config, spec, self._version),
            config.decoupled,
            None if self._around is None else self._around(config),
            root,
        )
        instance.spec = spec
        try:
            instance.initialize({})
        except BaseException:
            instance.discard()
            raise
        return instance


def _told(work: Callable[[], T]) -> T:
    """Do work of a backend; what it cannot do is the model's fault.

    Raises
    ------
    ModelConfigError
        At stage ``create``.
    """
    try:
        return work()
    except BackendError as error:
        raise ModelConfigError(
            error.text, stage="create", code=error.code, advice=error.advice
        ) from error
