"""What a backend offers, so that the engine runs its models.

Another backend is one file with a class of this shape. blsnb finds it by an entry
point: of the group ``blsnb.backends``, with the backend's name as it stands in
``config.pbtxt``, naming what is called without arguments to get the backend::

    [project.entry-points."blsnb.backends"]
    identity = "my_package.identity:IdentityBackend"

What it cannot do it tells by raising `blsnb.errors.BackendError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.pb_utils.message import RequestMessage, ResponseMessage

Answers = Sequence[Iterable[ResponseMessage]]
"""For each request of a batch its responses: one, or any number if it is decoupled."""


class BackendInstance(Protocol):
    """One instance of a model; it is never asked twice at the same time."""

    def execute(self, requests: Sequence[RequestMessage]) -> Answers:
        """Answer requests that a scheduler put together.

        Their inputs are frozen: an output may be one of them, passed on. Outputs that
        nobody asked for are dropped, so there is no need to look.

        Raises
        ------
        BackendError
            None of them can be answered; all get this error.
        """

    def finalize(self) -> None:
        """Release what the instance holds."""


class Backend(Protocol):
    """Makes instances of models."""

    def complete(self, config: ModelConfig, version: Path) -> ModelConfig:
        """Return a configuration with what the model's file tells of it.

        Of what is changed, ``max_batch_size``, ``input``, ``output``,
        ``dynamic_batching`` and ``model_transaction_policy`` count, as on Triton.

        Parameters
        ----------
        config
            Normalised.
        version
            The folder of the model's version.

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
            Normalised and completed.
        spec
            Its name and device.
        version
            The folder of the model's version.

        Raises
        ------
        BackendError
            The model cannot be loaded, or is not what the configuration says.
        """
