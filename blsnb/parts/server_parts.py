"""The parts that make up a server; tools that work on a server receive them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from blsnb.engine.engine import Engine
from blsnb.engine.instance.placement import Placements, parse_hostile
from blsnb.engine.loading.changed_files import ChangedFiles
from blsnb.engine.loading.control import ModelControl
from blsnb.engine.loading.override_folders import OverrideFolders
from blsnb.engine.loading.startup import (
    ControlMode,
    load_startup_models,
    parse_control_mode,
)
from blsnb.engine.model_log import ModelLog
from blsnb.parts.async_requests import AsyncRequests
from blsnb.parts.devices import Devices, choose_runtime
from blsnb.parts.exporter import Exporter, RequestSampler
from blsnb.parts.folders import Folders
from blsnb.parts.following import Following
from blsnb.parts.lifetime import ServerLifetime
from blsnb.parts.measurements import Measurements
from blsnb.parts.model_reports import ModelReports
from blsnb.parts.models import Models
from blsnb.parts.readers import Readers
from blsnb.parts.requests import ClientRequests
from blsnb.parts.settings import ServerSettings
from blsnb.parts.stand_ins import ModelStandIns
from blsnb.repository.repository import ModelRepository
from blsnb.results.implied_configs import ImpliedConfigs
from blsnb.trace.recorder import Recorder


class ServerParts(NamedTuple):
    """The parts of one server, and the settings from which they were made."""

    settings: ServerSettings
    engine: Engine
    recorder: Recorder
    repository: ModelRepository
    control: ModelControl
    changed_files: ChangedFiles
    log: ModelLog
    models: Models
    reports: ModelReports
    folders: Folders
    readers: Readers
    following: Following
    requests: ClientRequests
    async_requests: AsyncRequests
    measurements: Measurements
    stand_ins: ModelStandIns
    devices: Devices
    lifetime: ServerLifetime
    exporter: Exporter | None


class HasParts(Protocol):
    """A server."""

    _parts: ServerParts


def parts_of(server: HasParts) -> ServerParts:
    """Return the parts of a server.

    Raises
    ------
    TypeError
        ``server`` is not a server.
    """
    parts = getattr(server, "_parts", None)
    if not isinstance(parts, ServerParts):
        raise TypeError(f"server={server!r} is not valid; expected a blsnb.Server")
    return parts


def open_parts(given: ServerSettings) -> ServerParts:
    """Make the parts of a server and load its startup models.

    Raises
    ------
    RepositoryError
        A folder of the repository is missing.
    ModelLoadError
        A startup model does not load.
    ValueError
        A setting is invalid.
    """
    mode = parse_control_mode(given.model_control_mode, given.startup_names)
    parts = _make(given)
    parts.control.is_explicit = mode is ControlMode.EXPLICIT
    try:
        load_startup_models(
            parts.control,
            parts.repository,
            mode,
            given.startup_names,
            exit_on_error=given.exit_on_error,
            note=parts.log.note,
        )
        if mode is ControlMode.POLL:
            parts.changed_files.poll(given.repository_poll_s)
    except BaseException:
        parts.lifetime.close()
        raise
    return parts


def _make(given: ServerSettings) -> ServerParts:
    hostile = parse_hostile(given.hostile_placement)
    chosen = choose_runtime(given.runtime, hostile)
    settings = given.engine_settings(Placements(chosen.runtime, hostile))
    recorder = given.recorder()
    repository = ModelRepository(given.model_repository, given.model_config_name)
    overrides = OverrideFolders()
    engine = Engine(
        recorder, settings, lambda: (*repository.folders, *overrides.folders)
    )
    log = ModelLog(int(given.log_verbose))
    control = ModelControl(engine, repository, overrides, log)
    changed_files = ChangedFiles(control, repository, log.note)
    lifetime = ServerLifetime(given.exit_timeout_s)
    implied_configs = ImpliedConfigs(engine.catalog, repository, recorder)
    reports = ModelReports(engine, control, repository, implied_configs)
    models = Models(engine, control, repository, changed_files, lifetime, reports)
    readers = Readers(engine, lifetime)
    requests = ClientRequests(engine, readers)
    following = Following(models, readers, log.note)
    parts = ServerParts(
        settings=given,
        engine=engine,
        recorder=recorder,
        repository=repository,
        control=control,
        changed_files=changed_files,
        log=log,
        models=models,
        reports=reports,
        folders=Folders(models, following),
        readers=readers,
        following=following,
        requests=requests,
        async_requests=AsyncRequests(requests, lifetime),
        measurements=Measurements(engine, lifetime),
        stand_ins=ModelStandIns(models),
        devices=Devices(given.runtime, chosen, engine.placements, control, lifetime),
        lifetime=lifetime,
        exporter=_exporter(given, recorder),
    )
    _close_in_order(parts)
    return parts


def _exporter(given: ServerSettings, recorder: Recorder) -> Exporter | None:
    sampler = RequestSampler(given.otlp_rate, given.otlp_count)
    return Exporter(recorder, given.otlp, sampler) if given.otlp else None


def _close_in_order(parts: ServerParts) -> None:
    """Close the monitor first, then the repository, and the exporter last."""
    lifetime, control = parts.lifetime, parts.control
    if parts.exporter is not None:
        lifetime.at_close(parts.exporter.close)
    lifetime.at_close(parts.repository.close)
    lifetime.at_close(parts.async_requests.close)
    lifetime.at_close(lambda: control.close(lifetime.left_s))
    lifetime.at_close(lambda: parts.changed_files.close(lifetime.left_s))
    lifetime.at_close(parts.measurements.close)
