"""Run a model's warm-up samples on its instances before it serves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.streaming import StreamInflight
from blsnb.engine.request.validation import RequestError
from blsnb.engine.version import ServedVersion
from blsnb.errors import ModelConfigError
from blsnb.pb_utils.message import ResponseMessage
from blsnb.trace.events import CallFlag
from blsnb.trace.recorder import Recorder

if TYPE_CHECKING:
    from blsnb.model.warmup_samples import WarmupSample

_NEVER_READY = (
    "Without this response the model stays LOADING on Triton: the load call never "
    "returns, and the server does not shut down."
)


class WarmUp:
    """The warm-up of one model version; a failure in it fails the load.

    The samples pass neither the scheduler nor the response cache, as on Triton.

    Parameters
    ----------
    root
        The lifetime of the load, which Ctrl-C ends.
    recorder
        Records the calls if the load is part of a run.

    References
    ----------
    core: src/backend_model_instance.cc, TritonModelInstance::WarmUp
    """

    def __init__(
        self, version: ServedVersion, root: RootRequest, recorder: Recorder
    ) -> None:
        self._version = version
        self._root = root
        self._recorder = recorder

    def run(self) -> None:
        """Warm up the instances, one after another.

        Raises
        ------
        ModelConfigError
            At stage ``create``: a sample is invalid, or its response is an error.
        Unwind
            The load has ended, possibly because no response can come.
        """
        if self._version.config.message.model_warmup:
            for instance in list(self._version.pool.instances):
                self._warm(instance)

    def _warm(self, instance: ModelInstance) -> None:
        from blsnb.model.warmup_samples import FOLDER, warmup_samples

        folder = Path(instance.model_file).parents[1] / FOLDER

        def read(name: str) -> bytes:
            # Joined as Triton does: its error text shows the path.
            with open(f"{folder}/{name}", "rb") as file:
                return file.read()

        config = self._version.config
        samples = list(warmup_samples(config, read, os.urandom))
        for sample in samples:
            self._check(sample)
        for sample in samples:
            for number in range(sample.rounds):
                self._round(instance, sample, number)

    def _check(self, sample: WarmupSample) -> None:
        """Check what the core checks; the backend's checks follow in the run."""
        from blsnb.model.warmup_samples import strings_error

        try:
            self._version.validator.check(sample.message)
        except RequestError as error:
            if error.message not in map(strings_error, sample.message.inputs):
                raise ModelConfigError(
                    error.message, "create", error.code, error.advice
                ) from None

    def _round(
        self, instance: ModelInstance, sample: WarmupSample, number: int
    ) -> None:
        responses = [
            ResponseMessage(error=text)
            for text in sample.errors(
                instance.name, self._version.config.max_batch_size
            )
        ]
        if not responses:
            inflights = [
                self._inflight(sample, number) for _ in range(sample.batch_size)
            ]
            responses = self._execute(instance, inflights)
        failures = [each for each in responses if each.error is not None]
        if failures:
            texts = "".join(f"{each.error}; " for each in failures)
            raise ModelConfigError(
                f"failed to run warmup sample '{sample.name}': {texts}", "create"
            ) from failures[0].cause

    def _inflight(self, sample: WarmupSample, number: int) -> Inflight:
        version, record = self._version, self._root.record
        call = self._recorder.open(record, version.info, None)
        call.request_start_ns = call.queue_start_ns = CLOCK.now_ns()
        kind = StreamInflight if version.decoupled else Inflight
        inflight = kind(sample.message, self._root, call)
        if version.decoupled:
            self._recorder.log_responses(record, call, sample.message.inputs)
        inflight.extra = sample.extra
        return inflight

    def _execute(
        self, instance: ModelInstance, inflights: list[Inflight]
    ) -> list[ResponseMessage]:
        """Run one round; return the responses in the order of the requests."""
        self._version.execute_on(instance, inflights)
        responses = []
        for inflight in inflights:
            if inflight.is_rescheduled:
                # Warm-up requests cannot be rescheduled.
                inflight.drop(hang.RESCHEDULED)
                instance.backend.log("ERROR", hang.not_released(inflight))
            if not inflight.final:
                inflight.note(_NEVER_READY)
            answers = self._version.wait_for_all(inflight, instance)
            self._close(inflight, answers)
            responses += answers
        return responses

    def _close(self, inflight: Inflight, answers: list[ResponseMessage]) -> None:
        """End the record of a request."""
        call = inflight.call
        outputs = answers[0].outputs if answers and not inflight.decoupled else ()
        for answer in answers:
            if answer.error is not None and not call.error:
                call.flags |= CallFlag.ERROR
                call.error, call.error_code = answer.error, answer.code
        if answers and answers[0].parameters and not inflight.decoupled:
            call.response_parameters = tuple(answers[0].parameters.items())
        inputs = (*inflight.message.inputs, *inflight.extra)
        self._recorder.close(self._root.record, call, inputs, outputs)
