"""Requests and responses of network clients, for both protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blsnb.request_fields import PLAIN, RequestFields
from blsnb.serving.core.shared_memory import RegionWindow
from blsnb.tensors.dtypes import Shape

Parameters = Mapping[str, bool | int | float | str]


@dataclass(frozen=True, slots=True)
class WireInput:
    """An input as a client sends it.

    Parameters
    ----------
    datatype
        As the client writes it, such as ``"FP32"``; it may be invalid.
    data
        The elements in C order, little endian; of BYTES each after its length. The
        engine checks their number against the shape.
    """

    name: str
    datatype: str
    shape: Shape
    data: bytes | memoryview = b""


CLASS_COUNTS = 2**32
"""Triton keeps 32 bits of a number of classes."""


@dataclass(frozen=True, slots=True)
class WireOutput:
    """An output that a client requests.

    Parameters
    ----------
    class_count
        Number of the largest elements to send as texts; None for the tensor itself.
    window
        The part of shared memory for its elements, or None.
    """

    name: str
    class_count: int | None = None
    window: RegionWindow | None = None


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request.

    Parameters
    ----------
    outputs
        The requested outputs; all of the configuration if empty.
    """

    model_name: str
    fields: RequestFields = PLAIN
    inputs: tuple[WireInput, ...] = ()
    outputs: tuple[WireOutput, ...] = ()


@dataclass(frozen=True, slots=True)
class WireTensor:
    """An output as it is sent.

    Parameters
    ----------
    data
        In the form of `WireInput`; empty if the elements are in shared memory.
    window
        The part of shared memory that has the elements, or None.
    """

    name: str
    datatype: str
    shape: Shape
    data: bytes | memoryview = b""
    window: RegionWindow | None = None


@dataclass(frozen=True, slots=True)
class WireResponse:
    """One response to a request.

    Parameters
    ----------
    model_version
        The version that ran.
    id
        Id of the request.
    error
        The exact text of an error, or None.
    code
        Triton's name of the error's code, such as ``"INVALID_ARG"``.
    final
        Whether it is the last response.
    final_only
        Whether it is a final flag without outputs, which clients receive on demand.
    followed
        The error that follows it, of a model that may send one response only.
    missed
        Whether the response cache was searched for it in vain.
    """

    model_name: str
    model_version: str
    id: str = ""
    outputs: tuple[WireTensor, ...] = ()
    parameters: Parameters = field(default_factory=dict)
    error: str | None = None
    code: str = "INTERNAL"
    final: bool = True
    final_only: bool = False
    followed: str = ""
    missed: bool = False
