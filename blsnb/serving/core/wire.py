"""What clients send over a network, and are sent back, as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blsnb.request_fields import PLAIN, RequestFields
from blsnb.serving.core.shared_memory import Window
from blsnb.tensors.dtypes import Shape

Parameters = Mapping[str, bool | int | float | str]


@dataclass(frozen=True, slots=True)
class WireInput:
    """An input as a client sends it; its bytes may have been in shared memory.

    Parameters
    ----------
    datatype
        As the client writes it, such as ``"FP32"``; it may be none.
    data
        The elements in C order, little endian; of BYTES each after its length. They
        need not be as many as the shape says: that is found out, in Triton's words.
    """

    name: str
    datatype: str
    shape: Shape
    data: bytes | memoryview = b""


@dataclass(frozen=True, slots=True)
class WireOutput:
    """An output that a client asks for.

    Parameters
    ----------
    class_count
        So many of the largest elements are sent, as texts; 0 for the tensor itself.
    window
        Where in shared memory the client wants its bytes.
    """

    name: str
    class_count: int = 0
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request, whatever protocol it came by.

    Parameters
    ----------
    fields
        What it says besides its tensors.
    outputs
        Those that are requested; all of the configuration if empty.
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
        In the form of `WireInput`; nothing if it is in shared memory.
    window
        Where it was written instead.
    byte_size
        Of the elements, wherever they are.
    """

    name: str
    datatype: str
    shape: Shape
    data: bytes | memoryview = b""
    window: Window | None = None
    byte_size: int = 0


@dataclass(frozen=True, slots=True)
class WireResponse:
    """One response to a request.

    Parameters
    ----------
    model_version
        The one that answered.
    id
        The request's.
    parameters
        What the model gave its response.
    error
        Its text, to the letter, or None.
    code
        Triton's name of the error's code, such as ``"INVALID_ARG"``.
    final
        Whether it is the last one.
    bare
        Whether it is the final flag alone, which a client is sent only if it asked.
    """

    model_name: str
    model_version: str
    id: str = ""
    outputs: tuple[WireTensor, ...] = ()
    parameters: Parameters = field(default_factory=dict)
    error: str | None = None
    code: str = "INTERNAL"
    final: bool = True
    bare: bool = False
