"""A server of a model repository for commands that send requests to one model."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.inference_server import Server


@contextlib.contextmanager
def serving(given: argparse.Namespace) -> Iterator[Server]:
    """Serve a repository; raise the load error of the named model, if it has one."""
    from blsnb.inference_server import Server

    with Server(
        model_repository=given.repository,
        startup_models="*",
        exit_on_error=False,
        triton_release=given.triton_release,
    ) as server:
        directory = parts_of(server).repository.directory(given.name)
        if directory is not None and server.model(given.name).state != "READY":
            server.load(given.name)
        yield server
