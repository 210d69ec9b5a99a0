"""A server of a model repository for commands that send requests to one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blsnb.parts.server_parts import parts_of

if TYPE_CHECKING:
    from blsnb.inference_server import Server


def open_server(repository: str, triton_release: str | None) -> Server:
    """Return a server with all models of a repository that load."""
    from blsnb.inference_server import Server

    return Server(
        model_repository=repository,
        startup_models="*",
        exit_on_error=False,
        triton_release=triton_release,
    )


def check_serves(server: Server, name: str) -> None:
    """Raise the load error of the model; other models may fail to load."""
    directory = parts_of(server).repository.directory(name)
    if directory is not None and server.model(name).state != "READY":
        server.load(name)
