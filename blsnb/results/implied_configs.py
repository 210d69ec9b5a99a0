"""Configurations that fit the tensors of recorded runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from blsnb.arguments import check_text, check_type
from blsnb.engine.catalog import Catalog
from blsnb.errors import RepositoryError
from blsnb.repository.repository import ModelRepository
from blsnb.results.run import Run
from blsnb.results.traced import take_trace
from blsnb.tensors.ref import TensorRef
from blsnb.trace.recorder import Recorder
from blsnb.trace.run_record import RunRecord

if TYPE_CHECKING:
    from blsnb.model.config import ModelConfig
    from blsnb.model.implied import Implied, SeenCall, SeenTensor
    from blsnb.trace.spans import Span, Trace


class ImpliedConfigs:
    """Derives configurations of models from the tensors of their calls."""

    def __init__(
        self, catalog: Catalog, repository: ModelRepository, recorder: Recorder
    ) -> None:
        self._catalog = catalog
        self._repository = repository
        self._recorder = recorder

    def of(self, name: str, runs: Sequence[Run]) -> Implied:
        """Return a configuration that fits a model's tensors in recorded runs.

        Parameters
        ----------
        runs
            The runs; by default the newest recorded one with a call of the model.
        """
        from blsnb.model.implied import implied_config

        check_text(name=name)
        for run in runs:
            check_type("run", run, Run, "a blsnb.Run")
        traces = [run.trace for run in runs]
        if not traces:
            runs_recorded = reversed(self._recorder.runs)
            records = (each for each in runs_recorded if _calls(each, name))
            traces = [take_trace(each) for each in records][:1]
        calls = [call for trace in traces for call in _seen_calls(trace, name)]
        return implied_config(self._written_config(name), calls)

    def _written_config(self, name: str) -> ModelConfig:
        """Return a model's configuration as its author wrote it.

        Only ``max_batch_size`` is completed, because shapes depend on it.
        """
        from blsnb.model.config import ModelConfig

        directory = self._repository.directory(name)
        if directory is None:
            raise RepositoryError(" ".join(self._repository.why_none(name)))
        message = directory.config().message
        served = self._catalog.config(name)
        if served is not None:
            message.max_batch_size = served.max_batch_size
        return ModelConfig.of(message)


def _calls(record: RunRecord, name: str) -> bool:
    return any(call.model.name == name for call in record.calls)


def _seen_calls(trace: Trace, name: str) -> Iterator[SeenCall]:
    """Yield the tensors of each call of a model."""
    from blsnb.model.implied import SeenCall

    for span in trace.spans:
        if trace.models[span.model].name == name:
            inputs = tuple(map(_seen, span.inputs))
            yield SeenCall(inputs, tuple(map(_seen, _outputs(span))))


def _outputs(span: Span) -> Iterator[TensorRef]:
    """Yield the outputs of all responses of a call."""
    yield from span.outputs
    for response in span.responses:
        yield from response.outputs


def _seen(ref: TensorRef) -> SeenTensor:
    from blsnb.model.implied import SeenTensor

    return SeenTensor(ref.name, ref.dtype.data_type, tuple(ref.shape))
