"""What an evaluation is of: its models, options and inputs, to be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from blsnb.evaluation.plain import EvaluationSettings
from blsnb.parts.server_parts import ServerParts
from blsnb.repository.manifest import digest_of, files_below
from blsnb.tensors.byte_strings import pack_array

_BYTES = 16
"""Number of bytes of the digest of a row's inputs."""


def header_of(
    parts: ServerParts,
    settings: EvaluationSettings,
    models: Iterable[str],
    source_digest: str,
) -> dict[str, Any]:
    """Return the identity of an evaluation as JSON.

    Parameters
    ----------
    models
        Names of the models that requests may reach.
    source_digest
        Digest of the data set; an empty string if it is unknown.
    """
    options = {name: value for name, value in settings.options.items() if value}
    if settings.options.get("version") == 0:
        options["version"] = 0
    return {
        "model": settings.model_name,
        "options": json.loads(json.dumps(options, default=_listed)),
        "models": {name: _model_digest(parts, name) for name in sorted(models)},
        "rows": source_digest,
        "triton_release": ".".join(map(str, parts.engine.release)),
    }


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, Iterable) else str(value)


def _model_digest(parts: ServerParts, name: str) -> str:
    """Return a digest of a model's files and configuration, or of its stand-in."""
    sha = hashlib.sha256()
    standin = parts.control.standins.get(name)
    config = parts.engine.catalog.config(name, -1)
    sha.update((config.to_pbtxt() if config is not None else "").encode())
    directory = parts.repository.directory(name)
    if standin is not None:
        sha.update(standin.description.encode())
    elif directory is not None:
        for file in sorted(files_below(directory.path)):
            path = file.relative_to(directory.path).as_posix()
            sha.update(f"\n{path}: {digest_of(file)}".encode())
    return sha.hexdigest()


def digest_of_inputs(inputs: Mapping[str, Any]) -> str:
    """Return a digest of a row's inputs; equal values have equal digests."""
    sha = hashlib.blake2b(digest_size=_BYTES)
    for name in sorted(inputs):
        sha.update(f"\n{name}: ".encode())
        for part in _parts(inputs[name]):
            sha.update(part)
    return sha.hexdigest()


def _parts(value: Any) -> Iterator[bytes | memoryview]:
    if isinstance(value, list | tuple):
        yield f"[{len(value)}".encode()
        for each in value:
            yield from _parts(each)
        return
    if isinstance(value, str | bytes | bool | int | float | np.generic):
        yield repr(value).encode(errors="surrogatepass")
        return
    array = np.asarray(value)
    yield f"{array.dtype.str}{array.shape}".encode()
    if array.dtype.hasobject:
        yield pack_array(array)
    elif array.size:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return a clause that names what differs; an empty string if nothing does."""
    if before.get("model") != now["model"]:
        return f"they are of the model {before.get('model')!r}, not {now['model']!r}"
    files = _changed(before.get("models"), now["models"])
    if files:
        named = " and ".join(repr(name) for name in files)
        return f"the model{'s' if len(files) > 1 else ''} {named} differed"
    options = _changed(before.get("options"), now["options"])
    if options:
        found = before.get("options") or {}
        return "; ".join(
            f"{name} was {found.get(name)!r} and is {now['options'].get(name)!r}"
            for name in options
        )
    if before.get("rows") != now["rows"]:
        return "the data set has other contents"
    server = before.get("server_url", "")
    if server != now.get("server_url", ""):
        return f"they were executed on {server or 'models of this process'}"
    if before.get("triton_release") != now["triton_release"]:
        return f"Triton's release was {before.get('triton_release')}"
    return ""


def _changed(before: Any, now: Mapping[str, Any]) -> list[str]:
    known = before if isinstance(before, dict) else {}
    names = sorted({*known, *now})
    return [name for name in names if known.get(name) != now.get(name)]
