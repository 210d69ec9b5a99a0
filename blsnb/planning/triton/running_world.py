"""A real server that runs already: a plan is calibrated from its statistics.

The server counts how long the executions of each batch size take together. What an
execution calls, and how much executions differ, is from a few requests in this kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from numbers import Real
from typing import Any

from blsnb.arguments import check_mapping, check_text, check_type, refuse
from blsnb.backends.remote_messages import netloc_of
from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Load
from blsnb.errors import BlsnbError, TritonServerError
from blsnb.model.config import ModelConfig
from blsnb.parity.targets import Remote
from blsnb.parity.triton.client import TritonClient
from blsnb.parity.triton.executed import BySize, Executed, inferences
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.calibration import (
    HERE,
    TRITON,
    WORLDS,
    CalibratedModel,
    Calibration,
    by_size,
)
from blsnb.planning.observations import Observed
from blsnb.planning.plans.planned_world import OpenServer, OwnWorld, PlannedWorld
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.triton.calibrate import (
    light_phases,
    loaded_server,
    observe_plain,
)
from blsnb.planning.triton.observation import Observation, TracedModels
from blsnb.planning.triton.phases import Phase, RealServer
from blsnb.planning.triton.real_world import RealWorld
from blsnb.planning.triton.recorded import Recorded
from blsnb.printable import counted

_MEANS = (
    "The statistics of the server at {} have means only: what executions call, and how "
    "much they differ, was observed in this kernel."
)
_OTHER_CLIENTS = (
    "Other clients sent {} to {} during the observation: the times have their "
    "load, too."
)


def world_of(
    parts: ServerParts,
    request: ClientRequest,
    target: str,
    recording: Recorded | None,
    computing: Mapping[str, float] | None,
    open_server: OpenServer,
    server_url: str | None,
) -> PlannedWorld:
    """Return the world of a plan; see `Server.plan`.

    Raises
    ------
    ValueError
        The target or the address is not valid, or a recording is used for another
        world or beside an address.
    """
    check_text(target=target)
    if target not in WORLDS:
        raise ValueError(
            f"target={target!r} is not valid; expected {HERE!r} or {TRITON!r}"
        )
    if recording is not None and not hasattr(recording, "unattributed"):
        refuse("recording", recording, "what blsnb.load_recording(folder) returns")
    check_mapping(computing=computing)
    computing = computing or {}
    for name, share in computing.items():
        check_type(f"computing[{name!r}]", share, Real, "a share from 0 to 1")
        if recording is None or not 0 <= share <= 1:
            raise ValueError(
                f"computing={{{name!r}: {share!r}}} is not valid; expected shares from "
                "0 to 1, with a recording"
            )
    if server_url is not None:
        if recording is not None:
            raise ValueError("recording and server_url exclude each other: pass one")
        return RunningWorld(parts, request, server_url)
    if target == TRITON:
        return RealWorld(parts, request, recording=recording, computing=computing)
    if recording is not None:
        raise ValueError(
            f"target={target!r} ({WORLDS[target]}) is not valid for a recording; "
            f"expected {TRITON!r} ({WORLDS[TRITON]})"
        )
    return OwnWorld(parts, request, open_server)


class RunningWorld:
    """The models of a server here as they run on a server elsewhere.

    Parameters
    ----------
    request
        A request of a client.
    url
        Address of the server, such as ``"grpc://localhost:8001"``.
    """

    name = TRITON

    def __init__(self, parts: ServerParts, request: ClientRequest, url: str) -> None:
        check_text(server_url=url)
        try:
            netloc_of(url)
        except ValueError:
            raise ValueError(
                f"server_url={url!r} is not valid; expected an address such as "
                "'grpc://localhost:8001'"
            ) from None
        self._here = RealWorld(parts, request)
        self._url = url

    def calibrate(self, requests: int, duration_s: float, mix: Mix) -> Calibration:
        """Send loads to the server, and read its statistics before and after each.

        Raises
        ------
        TritonServerError
            It does not respond, lacks a model, or has another configuration of it.
        """
        observation = self._here.observation(Load(duration_s, requests))
        target = Remote(self._url)
        with target.serving(observation.model_name, ()) as client:
            for name, config in observation.configs.items():
                self._check(client, name, config)
            server = RealServer(client, target)
            found = calibrated(server, observation, self._here.executions())
        means = _MEANS.format(self._url)
        return replace(found, remarks=(*found.remarks, means))

    def _check(self, client: TritonClient, name: str, config: ModelConfig) -> None:
        """Refuse a model that the server does not have as it is here."""
        if not client.is_ready(name):
            raise TritonServerError(
                f"model {name!r}, which the request reaches here, is not ready at "
                f"{self._url}",
                advice="Load it there first.",
            )
        there, here = _scheduling(client.config(name)), _scheduling(config)
        for field in {**there, **here}:
            if there.get(field) != here.get(field):
                raise TritonServerError(
                    f"model {name!r} has another {field} at {self._url} than here",
                    advice="A plan starts from the configuration that was observed: "
                    "give the model the same one here.",
                )

    def sender(self, configs: Mapping[str, str]) -> AbstractContextManager[Sender]:
        """Refuse to run other configurations.

        Raises
        ------
        BlsnbError
            The server belongs to others.
        """
        raise BlsnbError(
            f"a check does not change the models of the server at {self._url}. Write "
            "the configuration with plan.export(), load it there, and plan again"
        )


def _scheduling(config: ModelConfig) -> dict[str, Any]:
    """Return the fields of a configuration that decide when requests are executed."""
    message = config.message
    found: dict[str, Any] = {"max_batch_size": message.max_batch_size}
    if not config.is_ensemble:
        found["instance_group"] = [
            (each.kind, each.device_id, each.group) for each in config.instance_names()
        ]
    if config.scheduling:
        found[config.scheduling] = str(getattr(message, config.scheduling))
    return found


def calibrated(
    server: RealServer, observation: Observation, seen: Mapping[str, Observed]
) -> Calibration:
    """Return the calibration of a server from what it counts.

    Parameters
    ----------
    seen
        Executions in this kernel, by model.
    """
    phases = list(light_phases(loaded_server(server, observation), observation))
    models = {
        name: _model(config, seen[name], _together(name, phases))
        for name, config in observation.configs.items()
        if name in seen
    }
    found = observe_plain(server, observation, TracedModels(models, {}, 0, phases))
    name = observation.model_name
    sent = phases[0].requests * observation.sizes[name]
    others = inferences(phases[0].executed.get(name, {})) - sent
    if others > 0:
        remark = _OTHER_CLIENTS.format(counted(others, "request"), name)
        found = replace(found, remarks=(*found.remarks, remark))
    return found


def _together(name: str, phases: list[Phase]) -> BySize:
    """Return the executions of a model in all loads."""
    found: dict[int, Executed] = {}
    for phase in phases:
        for size, each in phase.executed.get(name, {}).items():
            found[size] = each.plus(found.get(size, Executed()))
    return found


def _model(config: ModelConfig, seen: Observed, counted: BySize) -> CalibratedModel:
    """Return a model whose batch sizes take as long as the server counted.

    Its executions differ by as much time as they did here.
    Executions with calls are as they were here: what the server counts of them contains
    their calls, and a later step takes these off.
    """
    behaviours = [each.with_computing(0) for each in seen.executions]
    calls = any(step.model for each in behaviours for step in each.steps)
    if calls or config.is_ensemble or not counted:
        return CalibratedModel(config, by_size(behaviours))
    mean_ns = sum(each.own_ns for each in behaviours) / len(behaviours)
    return CalibratedModel(
        config,
        {
            size: [
                each.longer(found.mean_ns - mean_ns)._replace(size=size)
                for each in behaviours
            ]
            for size, found in sorted(counted.items())
        },
    )
