"""Makers: chooses what makes the instances of a model."""

from __future__ import annotations

from blsnb.backends.registry import find_backend
from blsnb.engine.bls import Router
from blsnb.engine.leaf_maker import LeafMaker
from blsnb.engine.maker import InstanceMaker, Maker, ModelLogWriter
from blsnb.model.config import ModelConfig
from blsnb.repository.directory import ModelDirectory

_PYTHON = "python"


class Makers:
    """Chooses by the backend that a configuration names.

    Parameters
    ----------
    router
        Runs the requests that instances make.
    log
        Takes model, level, text, file and line of a model's log.
    """

    def __init__(self, router: Router, log: ModelLogWriter) -> None:
        self._router = router
        self._log = log

    def make(
        self, directory: ModelDirectory, number: int, config: ModelConfig
    ) -> Maker:
        """Return what makes the instances of a version.

        Raises
        ------
        ModelConfigError
            At stage ``create``: there is no such backend; the text is Triton's.
        """
        if config.backend == _PYTHON:
            return InstanceMaker(directory, number, config, self._router, self._log)
        backend = find_backend(config.backend, config.name)
        return LeafMaker(backend, directory, number, config, self._router, self._log)
