"""Binder: gives each instance the backend through which its model asks for things."""

from __future__ import annotations

from collections.abc import Callable

from blsnb.engine.bls import Control, InstanceBackend
from blsnb.engine.engine import Engine
from blsnb.engine.instance.instance import ModelInstance
from blsnb.pb_utils.backend import Backend

ModelLogWriter = Callable[[str, str, str, str, int], None]
"""Takes model, level, text, file and line of a model's log."""


class Binder:
    """Makes the backends of instances.

    Parameters
    ----------
    engine
        Runs the requests that instances make.
    control
        Loads and unloads models for them.
    log
        Writes their log.
    """

    def __init__(self, engine: Engine, control: Control, log: ModelLogWriter) -> None:
        self._engine = engine
        self._control = control
        self._log = log

    def of(self, model_name: str) -> Callable[[ModelInstance], Backend]:
        """Return what makes the backend of an instance of a model."""

        def bind(instance: ModelInstance) -> Backend:
            return InstanceBackend(self._engine, self._control, instance, write)

        def write(level: str, text: str, filename: str, line: int) -> None:
            self._log(model_name, level, text, filename, line)

        return bind
