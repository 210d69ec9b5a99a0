"""Makers: chooses what makes the instances of a model."""

from __future__ import annotations

from blsnb.backends.backend import Backend
from blsnb.backends.backend_registry import find_backend
from blsnb.backends.standin import KIND
from blsnb.backends.standin_registry import StandIns, on_cpu
from blsnb.engine.engine import Engine
from blsnb.engine.instance.inputs import undone
from blsnb.engine.loading.backend_instances import LeafMaker
from blsnb.engine.loading.binder import Binder
from blsnb.engine.loading.python_instances import InstanceMaker, Maker
from blsnb.model.config import ModelConfig
from blsnb.repository.directory import ModelDirectory

_PYTHON = "python"


class Makers:
    """Chooses by the backend that a configuration names.

    Parameters
    ----------
    engine
        Runs the requests that instances make.
    binder
        Makes what they ask through.
    """

    def __init__(self, engine: Engine, binder: Binder) -> None:
        self._engine = engine
        self._binder = binder
        self.standins = StandIns()
        """The models that are not run, but stood in for."""

    def make(
        self, directory: ModelDirectory, number: int, config: ModelConfig
    ) -> Maker:
        """Return what makes the instances of a version, or of its stand-in.

        Raises
        ------
        ModelConfigError
            At stage ``create``: there is no such backend; the text is Triton's.
        """
        standin = self.standins.get(directory.name)
        if standin is not None:
            config = self.fitted(config)
            return self._leaf(standin, directory, number, config, True)
        if config.backend == _PYTHON:
            maker = InstanceMaker
            return maker(directory, number, config, self._engine, self._binder)
        backend = find_backend(config.backend, config.name)
        return self._leaf(backend, directory, number, config, False)

    def _leaf(
        self,
        backend: Backend,
        directory: ModelDirectory,
        number: int,
        config: ModelConfig,
        is_standin: bool,
    ) -> LeafMaker:
        return LeafMaker(
            backend,
            directory,
            number,
            config,
            self._engine,
            self._binder,
            kind=KIND if is_standin else "model",
            around=undone if is_standin else None,
        )

    def fitted(self, config: ModelConfig) -> ModelConfig:
        """Return a configuration with the instance groups that its maker is given."""
        standin = self.standins.get(config.name)
        return config if standin is None else on_cpu(config)

    def numbers(self, directory: ModelDirectory, config: ModelConfig) -> list[int]:
        """Return the versions to load: a stand-in needs no folder of any."""
        numbers = directory.chosen_versions(config)
        if not numbers and self.standins.get(directory.name) is not None:
            return [1]
        return numbers
