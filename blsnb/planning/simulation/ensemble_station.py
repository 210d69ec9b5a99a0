"""An ensemble under load: the engine decides which steps run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from blsnb.engine.scheduling.ensembles.calls import (
    EnsembleError,
    EnsembleProgress,
    Held,
    Sequence,
    StepCall,
)
from blsnb.engine.scheduling.ensembles.plan import EnsemblePlan, PlannedStep
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.errors import BlsnbError
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.planning.simulation.behaviour import Behaviour
from blsnb.planning.simulation.execution import World
from blsnb.planning.simulation.station import SimulatedRequest, Station
from blsnb.tensors.dtypes import Shape

_Move = Callable[[], EnsembleProgress[None]]


class EnsembleStation(Station):
    """An ensemble: it has no instances, and a step runs when its inputs are there.

    Parameters
    ----------
    config
        With ``decoupled`` computed.
    configs
        Configurations of the repository's models by name.
    draw
        Returns an observed request of a batch size; its own work is distributed
        evenly among the ends of the steps.
    """

    def __init__(
        self,
        world: World,
        config: ModelConfig,
        configs: Mapping[str, ModelConfig],
        draw: Callable[[int], Behaviour],
    ) -> None:
        # Without instances nothing is executed.
        super().__init__(world.timeline, lambda *_: None, 0)
        self.world = world
        self.draw = draw
        self.plan = EnsemblePlan(config, _composing(config, configs))
        self.batches = config.max_batch_size > 0
        self._inputs = config.inputs
        self._configs = configs
        self._made: dict[tuple[int, int], dict[str, Held[None]]] = {}
        """Tensors of requests and responses of a size, by step; -1 for inputs."""

    def add(self, request: SimulatedRequest) -> None:
        """Start a request."""
        request.queued_ns = self._timeline.now_ns
        self._count((request,), 0)
        _EnsembleExecution(self, request).start()

    def _start_ready(self) -> None:
        """Do nothing: no request waits."""

    def inputs(self, size: int) -> dict[str, Held[None]]:
        """Return the inputs of a request, without values."""
        return self._tensors(-1, self._inputs, size if self.batches else 0)

    def outputs(self, step: PlannedStep, size: int) -> dict[str, Held[None]]:
        """Return the outputs of a step, without values."""
        outputs = self._configs[step.model].outputs
        size = size if self.plan.batches(step) else 0
        return self._tensors(step.index, outputs, size)

    def _tensors(
        self, step: int, specs: tuple[TensorSpec, ...], size: int
    ) -> dict[str, Held[None]]:
        if (step, size) not in self._made:
            self._made[step, size] = _tensors(specs, size)
        return self._made[step, size]


class _EnsembleExecution:
    """A request of an ensemble."""

    def __init__(self, station: EnsembleStation, request: SimulatedRequest) -> None:
        self._station = station
        self._request = request
        fields = request.fields
        self._run: EnsembleRun[None] = EnsembleRun(
            station.plan,
            station.inputs(request.size),
            station.plan.outputs,
            batch_size=request.size if station.batches else 0,
            sequence=Sequence(fields.correlation_id, fields.flags),
        )
        observed = station.draw(request.size)
        self._work_ns = observed.own_ns // len(observed.steps)

    def start(self) -> None:
        """Start the steps whose inputs are there."""
        self._after_work(self._run.start)

    def _after_work(self, move: _Move) -> None:
        if self._work_ns:
            self._station.world.cores.compute(
                self._work_ns, lambda: self._apply(move())
            )
        else:
            self._apply(move())

    def _apply(self, progress: EnsembleProgress[None]) -> None:
        for call in progress.calls:
            self._send(call)
        if progress.response is not None and self._station.plan.decoupled:
            self._request.respond(self._station.world.timeline.now_ns)
        if progress.final:
            error = progress.error
            self._station.answer(self._request, error.message if error else "")

    def _send(self, call: StepCall[None]) -> None:
        """Send the request of a step: its other fields are those of the ensemble's."""
        station, fields = self._station, self._request.fields
        size = 1
        if station.plan.batches(call.step) and call.inputs:
            size = call.inputs[0].shape[0]
        if call.sequence.correlation_id:
            sequence_id, flags = call.sequence
            fields = fields._replace(correlation_id=sequence_id, flags=flags)
        held = station.outputs(call.step, size)
        take = partial(self._run.take, call)

        def responded(_: SimulatedRequest) -> None:
            self._after_work(partial(take, held, final=False))

        def answered(request: SimulatedRequest) -> None:
            if request.error:
                move = partial(take, error=EnsembleError(request.error))
            else:
                move = partial(take, None if request.responses else held)
            self._after_work(move)

        station.world.send(
            call.step.model, size, answered, self._request, fields, responded
        )


def _composing(
    config: ModelConfig, configs: Mapping[str, ModelConfig]
) -> dict[tuple[str, int], ModelConfig]:
    """Return the configurations of the models of an ensemble's steps."""
    steps = config.message.ensemble_scheduling.step
    for step in steps:
        if step.model_name not in configs:
            raise BlsnbError(
                f"ensemble {config.name!r}: its model {step.model_name!r} was not "
                "observed; plan a request of all outputs"
            )
    return {
        (step.model_name, step.model_version): configs[step.model_name]
        for step in steps
    }


def _tensors(specs: tuple[TensorSpec, ...], size: int) -> dict[str, Held[None]]:
    batch: Shape = (size,) if size else ()
    return {
        spec.name: Held(None, (*batch, *(max(1, each) for each in spec.dims)))
        for spec in specs
    }
