"""The stand-ins in use, by model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema

if TYPE_CHECKING:
    from blsnb.backends.standin import StandIn
    from blsnb.trace.spans import Trace

_EXACTLY_ONE = (
    "pass exactly one of zeros=True, random=SEED, replay=RUN, call=FUNCTION, "
    "remote=ADDRESS"
)


class StandIns(dict[str, "StandIn"]):
    """Stand-ins by the model that they replace."""

    def descriptions(self) -> dict[str, str]:
        """Return the descriptions of all stand-ins, by model."""
        return {name: standin.description for name, standin in self.items()}

    @contextlib.contextmanager
    def changing(self, name: str, standin: StandIn | None) -> Iterator[None]:
        """Set or remove a stand-in; restore the previous one if the block raises."""
        before = self.get(name)
        self._put(name, standin)
        try:
            yield
        except BaseException:
            self._put(name, before)
            raise

    def _put(self, name: str, standin: StandIn | None) -> None:
        if standin is None:
            self.pop(name, None)
        else:
            self[name] = standin


def make_standin(
    model_name: str,
    *,
    zeros: bool,
    random: int | None,
    replay: Sequence[Trace] | None,
    call: Callable[[dict[str, Any]], Any] | None,
    remote: str | None,
) -> StandIn:
    """Return a new stand-in of one kind.

    Raises
    ------
    ValueError
        Not exactly one kind was passed, or the address is invalid.
    """
    __tracebackhide__ = True
    given = [zeros or None, random, replay, call, remote]
    if sum(each is not None for each in given) != 1:
        raise ValueError(f"a stand-in for {model_name!r}: {_EXACTLY_ONE}")
    if remote is not None:
        # This module imports grpc.
        from blsnb.backends.remote_standin import RemoteStandIn

        return RemoteStandIn(remote)
    if replay is not None:
        from blsnb.backends.replayed_standin import replay as replayed_standin

        return replayed_standin(model_name, replay)
    # Deferred: few models have a stand-in.
    if call is not None:
        from blsnb.backends.standin import call as function_standin

        return function_standin(call)
    from blsnb.backends import synthetic_standin as synthetic

    return synthetic.zeros() if random is None else synthetic.random(random)


def on_cpu(config: ModelConfig) -> ModelConfig:
    """Return a configuration without devices, which a stand-in does not use."""
    message = config.message
    kinds = schema().ModelInstanceGroup
    for group in message.instance_group:
        if group.kind == kinds.KIND_GPU:
            group.kind = kinds.KIND_CPU
        group.ClearField("gpus")
        group.ClearField("profile")
    return ModelConfig.of(message)
