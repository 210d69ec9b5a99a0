"""The interface of backends, which execute models without Python code.

A package adds a backend by an entry point in the group ``blsnb.backends``. Its name is
the backend's name in ``config.pbtxt``, and its object is called without arguments::

    [project.entry-points."blsnb.backends"]
    identity = "my_package.identity:IdentityBackend"

All methods report failures as `blsnb.errors.BackendError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.pb_utils.message import RequestMessage, ResponseMessage

Responses = Sequence[Iterable[ResponseMessage]]
"""Responses by request of a batch: one, or any number for a decoupled model."""


class BackendInstance(Protocol):
    """One instance of a model; calls of its methods never overlap."""

    def execute(self, requests: Sequence[RequestMessage]) -> Responses:
        """Execute a batch of requests.

        Inputs are immutable, and may be returned as outputs. Outputs that were not
        requested are dropped.

        Raises
        ------
        BackendError
            The execution failed; all requests fail with this error.
        """

    def finalize(self) -> None:
        """Release the instance's resources."""


class Backend(Protocol):
    """Creates instances of models."""

    def complete(self, config: ModelConfig, version: Path) -> ModelConfig:
        """Return a configuration completed from the model's file.

        As on Triton, only ``max_batch_size``, ``input``, ``output``,
        ``dynamic_batching`` and ``model_transaction_policy`` may change.

        Parameters
        ----------
        config
            A normalised configuration.
        version
            Folder of the model's version.

        Raises
        ------
        BackendError
            The file is missing, or contradicts the configuration.
        """

    def instance(
        self, config: ModelConfig, spec: InstanceSpec, version: Path
    ) -> BackendInstance:
        """Return a new instance, ready to execute.

        Parameters
        ----------
        config
            A normalised and completed configuration.
        spec
            Name and device of the instance.
        version
            Folder of the model's version.

        Raises
        ------
        BackendError
            The model cannot be loaded, or contradicts the configuration.
        """
