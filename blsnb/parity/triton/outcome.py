"""The responses to one request, as values that can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import blsnb.pb_utils
from blsnb.printable import counted
from blsnb.results.run import Run
from blsnb.tensors.ref import TensorRef
from blsnb.trace.facts import time

WOULD_HANG = "WouldHang"
"""Code of a request to which Triton would never respond."""
NO_RESPONSE = "no response"
"""Code of a request without a response within the time limit."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LIBRARY = re.compile(r"/[^\s'\"]*/lib/python3\.\d+/")
# A file in a model's folder is preceded by NAME/VERSION/, wherever the repository is.
_FOLDER = re.compile(r"(?<![^\s'\"(])/[^\s'\"]*?/(?=[^/\s'\"]+/\d+/[^/\s'\"]+\.py)")
_OURS = re.escape(str(Path(blsnb.pb_utils.__file__).parent)) + r"/\w+\.py"
_TRITONS = r"/[^\s'\"]*/triton_python_backend_utils\.py"
_BACKEND = re.compile(rf"(?:{_OURS}|{_TRITONS})(?:\(\d+\))?")


class ClientFailure(NamedTuple):
    """An error as the client receives it."""

    code: str
    """Triton's name of the code; empty in a stream, which does not transport codes."""
    text: str


@dataclass(frozen=True, slots=True)
class ClientResponse:
    """One response: outputs, or an error.

    Parameters
    ----------
    final
        Whether it is the last one.
    at_ns
        Time from sending the request to receiving the response, in nanoseconds.
    """

    outputs: tuple[TensorRef, ...] = ()
    failure: ClientFailure | None = None
    final: bool = True
    at_ns: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """Contents by which a response is recognised at any position of a stream."""
        outputs = tuple(
            (ref.name, ref.dtype.datatype, ref.shape, bytes(ref.data or b""))
            for ref in self.outputs
        )
        return outputs, self.failure and self.failure.text


@dataclass(frozen=True, slots=True)
class ClientOutcome:
    """All responses to one request, in the order of arrival.

    Parameters
    ----------
    duration_ns
        Time from sending the request to its last response, in nanoseconds.
    start_ns
        When the request was sent, by the monotonic clock.
    run
        The recorded calls; None if nothing was recorded.
    """

    responses: tuple[ClientResponse, ...]
    duration_ns: int
    start_ns: int = 0
    run: Run | None = None

    def __repr__(self) -> str:
        responses = counted(len(self.responses), "response")
        return f"<{responses} in {time(self.duration_ns / 1000)}>"

    @property
    def failure(self) -> ClientFailure | None:
        """The first error among the responses."""
        failures = (each.failure for each in self.responses)
        return next((each for each in failures if each is not None), None)


def without_paths(text: str, folders: Iterable[Path]) -> str:
    """Replace what differs by machine in an error text: paths and memory addresses."""
    for folder in sorted(map(str, folders), key=len, reverse=True):
        text = text.replace(folder, "<repository>")
    text = _FOLDER.sub("<repository>/", text)
    text = _BACKEND.sub("<backend>/triton_python_backend_utils.py", text)
    text = _ADDRESS.sub(" at 0x…", text)
    return _LIBRARY.sub("<python>/", text)
