"""Loads of models that a case writes: the caller's error, and the log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blsnb.errors import ModelLoadError

from .blsnb_target import GRPC_CODES
from .scripted import write
from .targets import Failure, Target

PLAIN = """
class TritonPythonModel:
    def execute(self, requests):
        return []
"""
_LOGGED = re.compile(
    r"Poll failed for model directory '([^']*)': (.*)\"$", re.MULTILINE
)
_PARSED = re.compile(r"inference\.ModelConfig: (\d+:\d+): ")


def load(
    target: Target,
    name: str,
    config: str | None,
    source: str | None = PLAIN,
    files: Mapping[str, bytes] | None = None,
) -> list[Any]:
    """Write, load, and unload a model.

    Returns
    -------
    list
        The error for the caller of the load; the log line of a failed poll;
        where the text of the configuration cannot be read. Or else null, and the JSON
        text of the configuration.
    """
    write(target, name, config, source, files)
    try:
        failure, *more = (
            _ours(target, name) if _is_ours(target) else _real(target, name)
        )
        return [failure, *more] if failure else [None, target.config(name)]
    finally:
        target.unload(name, wait=False)


def _is_ours(target: Target) -> bool:
    return target.name == "blsnb"


def _ours(target: Any, name: str) -> tuple[Failure | None, str, str]:
    try:
        target.server.load(name)
    except ModelLoadError as error:
        code = GRPC_CODES.get(error.code, error.code)
        failure = Failure(code, target.normalised(error.message))
        found = _PARSED.search(error.advice)
        if error.stage != "poll":
            return failure, "", ""
        return failure, target.normalised(error.reason), found[1] if found else ""
    return None, "", ""


def _real(target: Any, name: str) -> tuple[Failure | None, str, str]:
    log: Path = target.server.log
    before = log.stat().st_size
    failure = target.load(name)
    text = log.read_bytes()[before:].decode()
    reasons = [reason for model, reason in _LOGGED.findall(text) if model == name]
    places = _PARSED.findall(text)
    # The log is JSON-like: quotes are escaped.
    reason = reasons[0].replace("\\'", "'").replace('\\"', '"') if reasons else ""
    return failure, target.normalised(reason), places[0] if places else ""
