"""Instances of models whose backend is not Python: ONNX Runtime, stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from blsnb.backends.backend import Backend
from blsnb.engine.instance.backend_instance import BackendModelInstance
from blsnb.engine.instance.inputs import Reshapes
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.placement import Placement
from blsnb.engine.loading.python_instances import InstanceMaker, VersionLoad
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import BackendError, ModelConfigError
from blsnb.model.completion import complete
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.model.normalization import normalise
from blsnb.model.rules.validate import validate_create, validate_instances

T = TypeVar("T")


class BackendInstanceMaker(InstanceMaker):
    """Makes the instances of one version of a model with another backend.

    Parameters
    ----------
    backend
        Executes the model.
    load
        As for `InstanceMaker`.
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
        load: VersionLoad,
        kind: str = "model",
        reshapes: Callable[[ModelConfig], Reshapes] | None = None,
    ) -> None:
        super().__init__(load)
        self.kind = kind
        self._backend = backend
        self._reshapes = reshapes

    @property
    def placement(self) -> Placement | None:
        """Moves inputs to the host; None without a device."""
        return self._engine.placements.of(self.config, host_only=True)

    @property
    def device(self) -> str:
        """``"cpu"``, or the kind of a stand-in, which runs on no device."""
        return "cpu" if self.kind == "model" else self.kind

    def make_all(self, root: RootRequest) -> list[ModelInstance]:
        """Complete the configuration and make all of its instances."""
        self._check_groups(self.config)
        completed = _result(lambda: self._backend.complete(self.config, self._version))
        config = complete(self.config, completed.to_json())
        count = self._engine.placements.gpu_count
        self.config = normalise(config, model_name=config.name, gpu_count=count)
        validate_create(
            self.config,
            model_dir=self._directory.path,
            gpu_count=count,
            backends=(self.config.backend,),
        )
        return self.make_more(self.config, self.config.instance_names(), root)

    def _check_groups(self, config: ModelConfig) -> None:
        count = self._engine.placements.gpu_count
        validate_instances(config, backends=(config.backend,), gpu_count=count)

    def renew(self, old: ModelInstance) -> ModelInstance:
        """Make an instance that replaces another of the same name."""
        try:
            return super().renew(old)
        except ModelConfigError as error:
            raise HookFailed(error.message, error) from error

    def _make(
        self, spec: InstanceSpec, made: list[ModelInstance], root: RootRequest | None
    ) -> None:
        config = self.config
        instance = BackendModelInstance(
            spec.name,
            self.model_file,
            self._bind,
            self._engine.release,
            lambda: self._backend.instance(config, spec, self._version),
            config.decoupled,
            None if self._reshapes is None else self._reshapes(config),
            root,
        )
        made.append(instance)
        instance.spec = spec
        _result(lambda: instance.initialize({}))


def _result(work: Callable[[], T]) -> T:
    """Return the result of a backend; raise its errors at stage ``create``."""
    try:
        return work()
    except BackendError as error:
        raise ModelConfigError(
            error.text, stage="create", code=error.code, advice=error.advice
        ) from error
