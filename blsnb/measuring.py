"""Measuring: what a server counts and measures of its models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blsnb.engine.engine import Engine
from blsnb.engine.validation import RequestError
from blsnb.errors import InferenceError

if TYPE_CHECKING:
    from blsnb.engine.batching import ModelBatching


class Measuring:
    """The part of a server that counts and measures."""

    _engine: Engine

    def statistics(
        self, name: str | None = None, *, version: int = -1
    ) -> dict[str, Any]:
        """Return Triton's statistics of one model, or of all that serve.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        try:
            return {"model_stats": self._engine.catalog.statistics(name, version)}
        except RequestError as error:
            raise told(error) from None

    def batching(self, name: str, *, version: int = -1) -> ModelBatching:
        """Return how a model's requests were batched, and why not together.

        The counts restart with every load, as those of `statistics` do.

        Parameters
        ----------
        version
            The newest that serves if -1.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        try:
            return self._engine.catalog.batching(name, version)
        except RequestError as error:
            raise told(error) from None

    def metrics(self) -> str:
        """Return Triton's metrics page: Prometheus' text format.

        It has ``nv_inference_*`` of every model that serves, and what models count
        themselves with ``pb_utils.MetricFamily``.
        """
        return self._engine.metrics_text()


def told(error: RequestError) -> InferenceError:
    """Return a refusal of the engine as its caller outside meets it."""
    return InferenceError(error.message, error.code, advice=error.advice)
