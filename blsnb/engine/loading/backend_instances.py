"""Instances of models whose backend is not Python: ONNX Runtime, stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from blsnb.backends.backend import Backend
from blsnb.engine.engine import Engine
from blsnb.engine.instance.backend_instance import BackendModelInstance
from blsnb.engine.instance.inputs import Reshapes
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.placement import Placement
from blsnb.engine.loading.python_instances import all_or_nothing
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import BackendError, ModelConfigError
from blsnb.model.completion import complete
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.model.normalization import normalise
from blsnb.model.rules.validate import validate_create, validate_instances
from blsnb.pb_utils.backend import EngineCalls
from blsnb.repository.directory import ModelDirectory

T = TypeVar("T")


class BackendInstanceMaker:
    """Makes the instances of one version of a model with another backend.

    Parameters
    ----------
    backend
        Executes the model.
    directory, number
        The model's folder, and the version.
    config
        Normalised; `make_all` completes it.
    engine
        The release, and the devices.
    bind
        Makes what an instance logs with.
    kind
        Kind of the model in the trace.
    reshapes
        Makes the conversion to the shapes that clients see, if the backend works
        with those.
    """

    source = ""
    """Empty: there is no source text."""

    def __init__(
        self,
        backend: Backend,
        directory: ModelDirectory,
        number: int,
        config: ModelConfig,
        engine: Engine,
        bind: Callable[[ModelInstance], EngineCalls],
        kind: str = "model",
        reshapes: Callable[[ModelConfig], Reshapes] | None = None,
    ) -> None:
        self.config = config
        self.kind = kind
        self._version = directory.version_dir(number)
        self.model_file = self._version / (config.default_model_filename or "model")
        self._backend = backend
        self._model_dir = directory.path
        self._reshapes = reshapes
        self._release = engine.release
        self._bind = bind
        self._placements = engine.placements

    @property
    def placement(self) -> Placement | None:
        """Moves inputs to the host; None without a device."""
        return self._placements.of(self.config, host_only=True)

    @property
    def device(self) -> str:
        """``"cpu"``, or the kind of a stand-in, which runs on no device."""
        return "cpu" if self.kind == "model" else self.kind

    def make_all(self, root: RootRequest) -> list[ModelInstance]:
        """Complete the configuration and make all of its instances."""
        backends = (self.config.backend,)
        count = self._placements.gpu_count
        validate_instances(self.config, backends=backends, gpu_count=count)
        completed = _result(lambda: self._backend.complete(self.config, self._version))
        config = complete(self.config, completed.to_json())
        self.config = normalise(config, model_name=config.name, gpu_count=count)
        validate_create(
            self.config, model_dir=self._model_dir, gpu_count=count, backends=backends
        )
        return self._make(self.config.instance_names(), root)

    def make_more(
        self, config: ModelConfig, specs: Sequence[InstanceSpec], root: RootRequest
    ) -> list[ModelInstance]:
        """Make further instances with the configuration of the first ones."""
        backends, count = (self.config.backend,), self._placements.gpu_count
        validate_instances(config, backends=backends, gpu_count=count)
        return self._make(specs, root)

    def _make(
        self, specs: Sequence[InstanceSpec], root: RootRequest
    ) -> list[ModelInstance]:
        with all_or_nothing() as made:
            for spec in specs:
                made.append(_result(partial(self._initialized, spec, root)))
            return list(made)

    def renew(self, old: ModelInstance) -> ModelInstance:
        """Make an instance that replaces another of the same name."""
        try:
            return self._initialized(old.spec, None)
        except BackendError as error:
            raise HookFailed(error.text, error) from error

    def _initialized(
        self, spec: InstanceSpec, root: RootRequest | None
    ) -> ModelInstance:
        config = self.config
        instance = BackendModelInstance(
            spec.name,
            self.model_file,
            self._bind,
            self._release,
            lambda: self._backend.instance(config, spec, self._version),
            config.decoupled,
            None if self._reshapes is None else self._reshapes(config),
            root,
        )
        instance.spec = spec
        try:
            instance.initialize({})
        except BaseException:
            instance.discard()
            raise
        return instance


def _result(work: Callable[[], T]) -> T:
    """Return the result of a backend; raise its errors at stage ``create``."""
    try:
        return work()
    except BackendError as error:
        raise ModelConfigError(
            error.text, stage="create", code=error.code, advice=error.advice
        ) from error
