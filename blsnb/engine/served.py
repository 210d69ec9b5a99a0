"""Served: one version of a model or of an ensemble, which answers requests."""

from __future__ import annotations

import abc
import time

from blsnb.engine.instance.placement import Placement
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.streaming import StreamInflight
from blsnb.engine.request.validation import RequestValidator
from blsnb.engine.response_cache import Kept, ResponseCache, cache_key
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import ResponseMessage
from blsnb.tensors.memory import HOST
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag, ModelInfo

_now = time.monotonic_ns
_STALE = (
    "This response was cached before the model was reloaded: Triton's cache does not "
    "notice a reload either. Send another input, or start a new server."
)


class Served(abc.ABC):
    """What runs requests, whatever is behind it.

    Parameters
    ----------
    config
        Normalised and completed.
    info
        How the trace names it.
    cache
        The server's response cache; None if it has none.
    """

    says_ready = False
    """Whether the model has a word on its readiness."""
    placement: Placement | None = None
    """Moves inputs and outputs; None where there is no device."""
    trouble = ""
    """Why it does not have the instances that were asked for last."""

    def __init__(
        self, config: ModelConfig, info: ModelInfo, cache: ResponseCache | None
    ) -> None:
        self.config = config
        self.info = info
        self.decoupled = config.decoupled
        self.validator = RequestValidator(config)
        self.statistics = ModelStatistics(info.name, info.version)
        self.is_cached: bool = config.message.response_cache.enable
        """Whether it asks for a response cache; the server may have none."""
        self.cache = cache if self.is_cached else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.info.name} {self.info.version}>"

    def unready(self) -> str:
        """Return why the model says that it cannot serve; nothing if it can."""
        return ""

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait to be executed."""
        return 0

    @property
    def instance_counts(self) -> tuple[int, int]:
        """Number of instances that are busy, and of all; an ensemble has none."""
        return 0, 0

    @property
    def is_running(self) -> bool:
        """Whether something of it is still there after it was retired."""
        return False

    @abc.abstractmethod
    def run(self, inflight: Inflight, certain: bool) -> ResponseMessage:
        """Run a request until its final response.

        Parameters
        ----------
        certain
            Whether this blocks the thread of an ``execute``.

        Raises
        ------
        RequestError
            It is refused before it is executed.
        Retired
            Another version serves now, or none.
        Unwind
            The whole request has ended.
        """

    def run_cached(
        self, cache: ResponseCache, inflight: Inflight, certain: bool
    ) -> ResponseMessage:
        """Answer a request from the cache; else run it, and keep its response."""
        if not _is_cacheable(inflight.message.inputs):
            return self.run(inflight, certain)
        call = inflight.call
        call.queue_start_ns = start = _now()
        key = cache_key(self.info.name, self.info.version, inflight.message.inputs)
        kept = cache.find(key)
        look_up_ns = _now() - start
        if kept is not None:
            call.flags |= CallFlag.CACHE_HIT
            if kept.load is not self.statistics:
                inflight.note(_STALE)
            call.request_end_ns = _now()
            self.statistics.hit(call, look_up_ns)
            response = ResponseMessage(kept.outputs)
            if self.placement is not None:
                self.placement.outputs(inflight, response)
            return response
        response = self.run(inflight, certain)
        if not self.was_rejected(inflight) and _is_cacheable(response.outputs):
            start = _now()
            # An error is kept as a response without outputs, as on Triton.
            if cache.keep(key, Kept(response.outputs, self.statistics)):
                self.statistics.miss(look_up_ns + _now() - start)
        return response

    def was_rejected(self, inflight: Inflight) -> bool:
        """Whether an answer is no answer of the model, and is not kept."""
        return False

    @abc.abstractmethod
    def stream(self, inflight: StreamInflight, certain: bool) -> None:
        """Run a decoupled request; its responses come when they come.

        Parameters
        ----------
        certain
            Whether the thread of another ``execute`` waits for the first response.
        """

    @abc.abstractmethod
    def ended(self, inflight: Inflight) -> None:
        """Count a request whose final response was sent."""

    def leave_behind(self, root: RootRequest) -> None:  # noqa: B027 - not for all
        """Let others take over from what still runs for a request that has ended."""

    @abc.abstractmethod
    def retire(self) -> None:
        """End it when the requests that are on their way are done."""


def _is_cacheable(refs: tuple[TensorRef, ...]) -> bool:
    """Whether Triton's cache takes tensors: only from the host.

    References
    ----------
    core: src/cache_entry.cc
    """
    return all(ref.device == HOST for ref in refs)
