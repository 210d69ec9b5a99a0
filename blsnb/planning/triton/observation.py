"""What a calibration observes of real servers, and what it found on the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from blsnb.benchmark.level import Load
from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibration import CalibratedModel
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.triton.phases import (
    Computing,
    Phase,
)


class Observation(NamedTuple):
    """What is observed.

    Parameters
    ----------
    model_name
        The model that clients call.
    configs
        Configurations of all models that a request reaches.
    messages
        Requests of clients.
    inner
        A request of each batching model.
    sizes
        Batch size of the requests of each model.
    load
        Limits of the load of one client; those of the models as they are have its
        duration, and the light one half of it.
    mix
        The requests of clients, as a simulation sends them.
    rate_limits
        Counts of the server's resources; None if it does not limit rates.
    """

    model_name: str
    configs: Mapping[str, ModelConfig]
    messages: Sequence[RequestMessage]
    inner: Mapping[str, RequestMessage]
    sizes: Mapping[str, int]
    load: Load
    mix: Mix
    rate_limits: Given | None


class TracedModels(NamedTuple):
    """The models of the first server.

    Parameters
    ----------
    models
        All of their own work counts as waiting.
    computing
        The processor time of their executions, by model.
    transport_ns
        Time of a request on its way to the server and back.
    phases
        Its loads.
    """

    models: Mapping[str, CalibratedModel]
    computing: Mapping[str, Computing]
    transport_ns: int
    phases: Sequence[Phase] = ()
