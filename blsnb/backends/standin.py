"""StandIn: answers in the place of a model, where somebody asked for that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from blsnb.backends.backend import Answers, Backend, BackendInstance
from blsnb.errors import BackendError
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.pb_utils.message import RequestMessage, ResponseMessage

KIND = "stand-in"
"""How cards, graphs and traces mark it."""
Answer = Callable[[RequestMessage], Iterable[ResponseMessage]]


class StandIn(Backend, Protocol):
    """A backend that stands in for the one which is not here.

    Its tensors have the shapes that clients see.
    """

    @property
    def how(self) -> str:
        """How it answers, for a reader: ``"zeros"``."""


class Answering:
    """A stand-in that answers each request for itself.

    Parameters
    ----------
    how
        How it answers, for a reader.
    make
        Makes what answers the requests of an instance.
    """

    def __init__(self, how: str, make: Callable[[ModelConfig], Answer]) -> None:
        self.how = how
        self._make = make

    def __repr__(self) -> str:
        return f"<stand-in: {self.how}>"

    def complete(self, config: ModelConfig, version: Path) -> ModelConfig:
        """Return the configuration as it is.

        Raises
        ------
        BackendError
            It has no outputs, and nothing else tells them.
        """
        if not config.outputs:
            raise BackendError(
                f"a stand-in for '{config.name}' cannot know its outputs",
                "INVALID_ARG",
                "Write inputs and outputs into its config.pbtxt: on Triton the model's "
                "own file may tell them.",
            )
        return config

    def instance(
        self, config: ModelConfig, spec: InstanceSpec, version: Path
    ) -> BackendInstance:
        """Return a new instance."""
        return _Instance(self._make(config))


class _Instance:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def execute(self, requests: Sequence[RequestMessage]) -> Answers:
        """Answer each request for itself; one that fails fails alone."""
        __tracebackhide__ = True
        return [self._answers(request) for request in requests]

    def _answers(self, request: RequestMessage) -> Iterator[ResponseMessage]:
        __tracebackhide__ = True
        try:
            yield from self._answer(request)
        except BackendError as error:
            yield ResponseMessage(error=error.text, code=error.code, cause=error)

    def finalize(self) -> None:
        """Hold nothing."""
