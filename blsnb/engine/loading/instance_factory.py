"""Choose the instance maker of a model: Python, another backend, or a stand-in."""

from __future__ import annotations

from collections.abc import Callable

from blsnb.backends.standin_registry import StandIns, on_cpu
from blsnb.engine.bls import Control, InstanceBackend
from blsnb.engine.engine import Engine
from blsnb.engine.instance.inputs import inverse_reshapes
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.loading.python_instances import (
    InstanceMaker,
    PythonInstanceMaker,
    VersionLoad,
)
from blsnb.engine.model_log import LogPlace, LogWriter
from blsnb.model.config import ModelConfig
from blsnb.model.rules.plugins import check_runtime
from blsnb.pb_utils.backend import EngineCalls
from blsnb.repository.directory import ModelDirectory

_PYTHON = "python"


class InstanceFactory:
    """Chooses the instance maker of a model by its backend or its stand-in.

    Parameters
    ----------
    engine
        Runs the requests of instances.
    control
        Loads and unloads models for instances.
    log
        Writes the models' log.
    """

    def __init__(self, engine: Engine, control: Control, log: LogWriter) -> None:
        self._engine = engine
        self._control = control
        self._log = log
        self.standins = StandIns()

    def maker(
        self, directory: ModelDirectory, number: int, config: ModelConfig
    ) -> InstanceMaker:
        """Return the instance maker of a version.

        Raises
        ------
        ModelConfigError
            At stage ``create``: the backend is unknown; the text is Triton's.
        """
        bind = self._backend_of(config.name)
        config = self.adapted(config)
        load = VersionLoad(directory, number, config, self._engine, bind)
        standin = self.standins.get(directory.name)
        if standin is None and config.backend == _PYTHON:
            return PythonInstanceMaker(load)
        # Deferred: most models are Python models.
        from blsnb.backends.backend_registry import find_backend
        from blsnb.backends.standin import KIND
        from blsnb.engine.loading.backend_instances import BackendInstanceMaker

        if standin is not None:
            return BackendInstanceMaker(standin, load, KIND, inverse_reshapes)
        check_runtime(config.message, directory.version_dir(number))
        backend = find_backend(config.backend, config.name)
        return BackendInstanceMaker(backend, load)

    def _backend_of(self, model_name: str) -> Callable[[ModelInstance], EngineCalls]:
        """Return a function that makes the backend of an instance of a model."""

        def bind(instance: ModelInstance) -> EngineCalls:
            return InstanceBackend(self._engine, self._control, instance, write)

        def write(level: str, text: str, *place: *LogPlace) -> None:
            self._log(model_name, level, text, *place)

        return bind

    def adapted(self, config: ModelConfig) -> ModelConfig:
        """Return the configuration for the maker, since stand-ins run on the CPU."""
        return on_cpu(config) if config.name in self.standins else config

    def numbers(self, directory: ModelDirectory, config: ModelConfig) -> list[int]:
        """Return the versions to load; a stand-in needs no version folder."""
        numbers = directory.chosen_versions(config)
        return [1] if not numbers and directory.name in self.standins else numbers
