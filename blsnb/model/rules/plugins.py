"""Checks of the shared libraries that a configuration names, with Triton's texts."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import Any

from blsnb.errors import ModelConfigError

_SERVER = "/opt/tritonserver"
"""Default folder of a Triton server."""
_BACKENDS = f"{_SERVER}/backends"
_AGENTS = f"{_SERVER}/repoagents"
_MODEL_FILE = "model.py"
_ELF = b"\x7fELF"
_ELF_HEADER_BYTES = 64


def check_agents(message: Any) -> None:
    """Refuse repository agents, which are shared libraries beside a server.

    Raises
    ------
    ModelConfigError
        At stage ``poll``; Triton writes this text to its log.

    References
    ----------
    core: src/repo_agent.cc, TritonRepoAgentManager::CreateAgent
    """
    if not message.HasField("model_repository_agents"):
        return
    agents = message.model_repository_agents.agents
    if not agents:
        raise ModelConfigError(
            f"model {message.name} has model_repository_agents without an agent",
            advice="Triton fails to load the model, or ends. Leave the field out.",
        )
    name = agents[0].name
    raise ModelConfigError(
        f"unable to find 'libtritonrepoagent_{name}.so' for repo agent '{name}', "
        f"searched: {_AGENTS}",
        advice="blsnb has no repository agents. Leave model_repository_agents out "
        "here; a server with this agent needs it.",
    )


def check_runtime(message: Any, version_dir: Path) -> None:
    """Refuse a runtime that is not the backend's own library.

    Parameters
    ----------
    version_dir
        The folder in which Triton searches first, then the one above it.

    Raises
    ------
    ModelConfigError
        At stage ``create``; the client of the load request receives this text.

    References
    ----------
    core: src/backend_model.cc, TritonModel::Create
    """
    runtime, backend = message.runtime, f"{_BACKENDS}/{message.backend}"
    own = f"{backend}/libtriton_{message.backend}.so"
    if not runtime or posixpath.normpath(f"{backend}/{runtime}") == own:
        return
    if runtime == _MODEL_FILE:
        raise _refusal(
            f"unable to find Python backend based backend library '{runtime}' for "
            f"model '{message.name}', searched: '{backend}/{runtime}'"
        )
    folders = (str(version_dir), str(version_dir.parent))
    for folder in folders:
        if os.path.exists(path := f"{folder}/{runtime}"):
            reason = _unloadable(path)
            text = f"unable to load shared library: {path}: {reason}"
            raise _refusal(text, "NOT_FOUND")
    searched = " ".join(f"'{folder}'" for folder in (*folders, backend))
    # The blank at the end is Triton's.
    raise _refusal(
        f"unable to find backend library '{runtime}' for model '{message.name}', "
        f"searched: {searched} "
    )


def _refusal(text: str, code: str = "INVALID_ARG") -> ModelConfigError:
    advice = "Leave runtime out: blsnb runs backends, and no other shared libraries."
    return ModelConfigError(text, stage="create", code=code, advice=advice)


def _unloadable(path: str) -> str:
    """Return the reason why a file is not a backend, as the dynamic linker words it."""
    if os.path.isdir(path):
        return "cannot read file data: Is a directory"
    with open(path, "rb") as file:
        header = file.read(_ELF_HEADER_BYTES)
    if len(header) < _ELF_HEADER_BYTES:
        return "file too short"
    if header.startswith(_ELF):
        return "blsnb loads no shared libraries"
    return "invalid ELF header"
