"""StandIns: which models a stand-in answers for, because somebody asked for that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from blsnb.backends.standin import StandIn
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema
from blsnb.trace.spans import Trace

_ONE = "give one of zeros=True, random=SEED, replay=RUN, call=FUNCTION, remote=ADDRESS"


class StandIns:
    """Stand-ins by the model that they answer for."""

    def __init__(self) -> None:
        self._chosen: dict[str, StandIn] = {}

    def get(self, name: str) -> StandIn | None:
        """Return the stand-in for a model, if one was asked for."""
        return self._chosen.get(name)

    def how(self, name: str) -> str:
        """Return how the stand-in for a model answers; nothing if there is none."""
        standin = self._chosen.get(name)
        return "" if standin is None else standin.how

    def all(self) -> dict[str, str]:
        """Return how each of them answers, by its model."""
        return {name: standin.how for name, standin in self._chosen.items()}

    def end(self, name: str) -> None:
        """Let nothing stand in for a model any more; none is no error."""
        self._put(name, None)

    @contextlib.contextmanager
    def changing(self, name: str, standin: StandIn | None) -> Iterator[None]:
        """Let a stand-in answer for a model, or none; as before if the block raises."""
        before = self._chosen.get(name)
        self._put(name, standin)
        try:
            yield
        except BaseException:
            self._put(name, before)
            raise

    def _put(self, name: str, standin: StandIn | None) -> None:
        if standin is None:
            self._chosen.pop(name, None)
        else:
            self._chosen[name] = standin


def choose_standin(
    model_name: str,
    *,
    zeros: bool = False,
    random: int | None = None,
    replay: Sequence[Trace] | None = None,
    call: Callable[[dict[str, Any]], Any] | None = None,
    remote: str | None = None,
) -> StandIn:
    """Return the stand-in that was asked for.

    Raises
    ------
    ValueError
        None was asked for, or several were; or the address is none.
    """
    given = [zeros or None, random, replay, call, remote]
    if sum(each is not None for each in given) != 1:
        raise ValueError(f"a stand-in for {model_name!r}: {_ONE}")
    if remote is not None:
        # It imports grpc.
        from blsnb.backends.remote_standin import RemoteStandIn

        return RemoteStandIn(remote)
    if replay is not None:
        from blsnb.backends.replayed_standin import replay as replayed

        return replayed(model_name, replay)
    if call is not None:
        from blsnb.backends.function_standin import call as called

        return called(call)
    from blsnb.backends import synthetic_standin as made_up

    return made_up.zeros() if random is None else made_up.random(random)


def on_cpu(config: ModelConfig) -> ModelConfig:
    """Return a configuration whose instances need no device: a stand-in has none."""
    message = config.message
    kinds = schema().ModelInstanceGroup
    for group in message.instance_group:
        if group.kind == kinds.KIND_GPU:
            group.kind = kinds.KIND_CPU
        group.ClearField("gpus")
        group.ClearField("profile")
    return ModelConfig.of(message)
