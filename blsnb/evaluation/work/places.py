"""The places where rows are executed, as the arguments of an evaluation name them."""

from __future__ import annotations

import contextlib
from concurrent.futures import Executor
from dataclasses import dataclass

from blsnb.arguments import check_type, check_whole
from blsnb.evaluation.plain import EvaluationSettings, RowRunner
from blsnb.evaluation.work.rows_in_server import RowsInServer
from blsnb.files.owned import OwnedFolder
from blsnb.parts.server_parts import ServerParts


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of an evaluation are executed: by default, on this thread.

    Parameters
    ----------
    workers
        Number of worker processes; with an executor the number of its processes, with
        a server the number of requests in flight.
    executor
        An executor of others.
    server_url
        Address of a server, such as ``"grpc://localhost:8001"``.

    Raises
    ------
    TypeError, ValueError
        An argument has the wrong type, or they exclude each other.
    """

    workers: int | None = None
    executor: Executor | None = None
    server_url: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            check_whole(1, workers=self.workers)
        check_type(
            "executor", self.executor, Executor | None, "a concurrent.futures.Executor"
        )
        check_type("server_url", self.server_url, str | None, "'grpc://host:port'")
        if self.executor is not None and self.server_url is not None:
            raise ValueError("executor and server_url exclude each other: pass one")

    @property
    def is_this_thread(self) -> bool:
        """Whether rows are executed on the calling thread."""
        return self == HERE

    def open(self, parts: ServerParts, settings: EvaluationSettings) -> RowRunner:
        """Return the runner of rows; its user closes it.

        Raises
        ------
        BlsnbError
            A model exists in this process only, so that no other can execute it.
        InferenceError
            The model is not ready.
        TritonServerError
            The server does not respond, or does not have the model.
        """
        if self.server_url is not None:
            from blsnb.evaluation.work.remote import REQUESTS, RowsOnServer

            count = self.workers or REQUESTS
            runtime = parts.devices.runtime
            return RowsOnServer(self.server_url, settings, runtime, count)
        # For another place, too: it refuses a model that is not ready.
        here = RowsInServer(parts, settings)
        if self.is_this_thread:
            return here
        return _elsewhere(parts, settings, self)


HERE = Place()


def input_names(
    parts: ServerParts, settings: EvaluationSettings, runner: RowRunner
) -> list[str]:
    """Return the names of the model's inputs at the place where rows are executed."""
    config = getattr(runner, "config", None)
    if config is None:
        version = settings.options.get("version")
        number = -1 if version is None else version
        config = parts.engine.catalog.config(settings.model_name, number)
    return [] if config is None else [spec.name for spec in config.inputs]


def _elsewhere(
    parts: ServerParts, settings: EvaluationSettings, place: Place
) -> RowRunner:
    from blsnb.evaluation.work.executors import RowsInExecutor
    from blsnb.evaluation.work.portable import copy_server
    from blsnb.evaluation.work.processes import RowsInProcesses
    from blsnb.evaluation.work.server_copy import Opening

    with contextlib.ExitStack() as stack:
        folder = OwnedFolder.temporary("blsnb-evaluation-")
        stack.callback(folder.close)
        # The owned folder itself is locked, as an export locks its target.
        models = folder.create() / "models"
        copy = copy_server(parts, settings.model_name, models)
        opening = Opening(copy, models, settings)
        if place.executor is not None:
            return RowsInExecutor(place.executor, opening, place.workers)
        close = stack.pop_all().close
        return RowsInProcesses(opening, int(place.workers or 1), close)
