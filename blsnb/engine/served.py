"""One version of a model or an ensemble in service."""

from __future__ import annotations

import abc

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.instance.placement import Placement
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.metrics.version_counts import VersionCounts
from blsnb.engine.request.inflight import Execution, Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.streaming import StreamInflight
from blsnb.engine.request.validation import RequestValidator
from blsnb.engine.response_cache import CachedOutputs, ResponseCache, cache_key
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import ResponseMessage
from blsnb.tensors.memory import HOST
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag, ModelInfo

_STALE = (
    "This response was cached before the model was reloaded: Triton's cache does not "
    "notice a reload either. Remove response_cache from the configuration while you "
    "change the model, or send another input."
)


class Served(abc.ABC):
    """One version of a model or an ensemble, which runs requests.

    Parameters
    ----------
    config
        Normalised and completed.
    info
        Its description in the trace.
    cache
        The server's response cache; None if it has none.
    """

    has_ready_hook = False
    """Whether the model defines ``is_ready``."""
    placement: Placement | None = None
    """Moves inputs and outputs; None without a device."""
    trouble = ""
    """Error of the latest change of its instances; empty if it succeeded."""

    def __init__(
        self, config: ModelConfig, info: ModelInfo, cache: ResponseCache | None
    ) -> None:
        self.config = config
        self.info = info
        self.decoupled = config.decoupled
        self.validator = RequestValidator(config)
        self.statistics = ModelStatistics(info.name, info.version)
        self.is_cached: bool = config.message.response_cache.enable
        """Whether its configuration enables the response cache."""
        self.cache = cache if self.is_cached else None
        tags = config.message.metric_tags
        self.counts = VersionCounts(info, tags, self.is_cached)
        """Counts for the metrics page, shared with earlier loads that still run."""

    def not_ready_reason(self) -> str:
        """Return why the model is not ready; empty if it is."""
        return ""

    @property
    def findings(self) -> tuple[str, ...]:
        """Return warnings about the model's code, such as a misspelled hook."""
        return ()

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait for execution."""
        return 0

    @property
    def instance_counts(self) -> tuple[int, int]:
        """Numbers of busy instances and of all instances; 0 for an ensemble."""
        return 0, 0

    @property
    def is_running(self) -> bool:
        """Whether an instance is not finalized yet."""
        return False

    @abc.abstractmethod
    def run(self, inflight: Inflight, blocks_execute: bool) -> ResponseMessage:
        """Run a request until its final response.

        Parameters
        ----------
        blocks_execute
            Whether the caller blocks the thread of an ``execute``.

        Raises
        ------
        RequestError
            The request is refused before its execution.
        Retired
            The model was unloaded or reloaded.
        Unwind
            The whole request has ended.
        """

    def run_cached(
        self, cache: ResponseCache, inflight: Inflight, blocks_execute: bool
    ) -> ResponseMessage:
        """Return the cached response, or run the request and cache its response."""
        if not _is_cacheable(inflight.message.inputs):
            return self.run(inflight, blocks_execute)
        call = inflight.call
        call.queue_start_ns = start = CLOCK.now_ns()
        key = cache_key(self.info.name, self.info.version, inflight.message.inputs)
        kept = cache.find(key)
        look_up_ns = CLOCK.now_ns() - start
        if kept is not None:
            call.flags |= CallFlag.CACHE_HIT
            if kept.load is not self.statistics:
                inflight.note(_STALE)
            call.request_end_ns = CLOCK.now_ns()
            self.statistics.hit(call, look_up_ns)
            response = ResponseMessage(kept.outputs)
            if self.placement is not None:
                self.placement.outputs(inflight, response)
            return response
        response = self.run(inflight, blocks_execute)
        if not self.was_rejected(inflight) and _is_cacheable(response.outputs):
            start = CLOCK.now_ns()
            # An error is cached as a response without outputs, as on Triton.
            if cache.insert(key, CachedOutputs(response.outputs, self.statistics)):
                self.statistics.miss(look_up_ns + CLOCK.now_ns() - start)
        response.missed = True
        return response

    @abc.abstractmethod
    def was_rejected(self, inflight: Inflight) -> bool:
        """Whether it was not executed, or its ensemble failed: nothing is cached."""

    @abc.abstractmethod
    def stream(self, inflight: StreamInflight, blocks_execute: bool) -> None:
        """Run a decoupled request, which sends its responses itself.

        Parameters
        ----------
        blocks_execute
            Whether the thread of another ``execute`` waits for the first response.
        """

    @abc.abstractmethod
    def ended(self, inflight: Inflight) -> None:
        """Count a completed request."""

    def replace_abandoned(self, root: RootRequest) -> list[Execution]:
        """Replace the instances that are busy with an ended request; return these."""
        return []

    @abc.abstractmethod
    def retire(self) -> None:
        """Stop serving after the requests in flight."""


def _is_cacheable(refs: tuple[TensorRef, ...]) -> bool:
    """Whether Triton's cache accepts the tensors: only those in host memory.

    References
    ----------
    core: src/cache_entry.cc
    """
    return all(ref.device == HOST for ref in refs)
