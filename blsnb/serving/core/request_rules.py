"""Refusals of requests that releases after 24.10 added."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.compiled.releases import Release, has
from blsnb.printable import shape_text
from blsnb.tensors.dtypes import BY_DATATYPE, Shape

DEFAULT_MAX_INPUT_SIZE = 1 << 26
"""Maximum bytes of an input over HTTP, by default."""
MAX_DEPTH = 100
"""Maximum depth of lists in the elements of an input in JSON."""
_INT64_MAX = 2**63 - 1
_SIZES = 2**64
_HINT = "Use --http-max-input-size to increase the limit."


class RequestRules(NamedTuple):
    """What the followed release refuses.

    Parameters
    ----------
    max_input_size
        Maximum bytes of an input over HTTP; None for no limit.
    """

    release: Release
    max_input_size: int | None

    @property
    def max_depth(self) -> int:
        """Maximum depth of an input's elements in JSON; 0 for no limit."""
        return MAX_DEPTH if has("json_depth_limit", self.release) else 0

    def element_count(self, name: str, shape: Shape) -> int:
        """Return the number of elements in JSON; refuse a shape that overflows.

        References
        ----------
        server: src/http_server.cc, ParseJsonTritonIO; src/common.cc, GetElementCount
        """
        # Triton reads no element of a tensor without an axis.
        count = math.prod(shape) if shape else 0
        if not has("input_size_overflow", self.release) or -1 in shape:
            return count
        text = f"invalid shape for input '{name}': shape {shape_text(shape)} "
        if any(length < 0 for length in shape):
            raise RequestError(f"{text}contains one or more invalid dimensions")
        if count > _INT64_MAX:
            raise RequestError(
                f"{text}causes total element count to exceed maximum size of "
                f"{_INT64_MAX}"
            )
        return count

    def check_input_size(self, name: str, datatype: str, count: int) -> None:
        """Refuse an input in JSON whose elements need too many bytes.

        Parameters
        ----------
        count
            Number of elements; of BYTES, the number of bytes.
        """
        if not has("input_size_overflow", self.release):
            return
        dtype = BY_DATATYPE.get(datatype)
        size = 1 if datatype == "BYTES" else (dtype.byte_size if dtype else 0)
        if size and count > _INT64_MAX // size:
            raise RequestError(
                f"byte size overflow for input '{name}': element count ({count}) * "
                f"data type size ({size}) exceeds maximum allowed size ({_INT64_MAX})"
            )
        # Triton stores a negative number of elements without a sign.
        byte_size = count * size % _SIZES
        self._check(
            f"JSON input '{name}' has a byte_size ({byte_size} bytes)", byte_size
        )

    def check_raw_size(self, byte_size: int) -> None:
        """Refuse a body without JSON that is too large."""
        self._check(f"Raw input has a byte_size ({byte_size} bytes)", byte_size)

    def check_json_size(self, byte_size: int) -> None:
        """Refuse a JSON text that is too large."""
        if has("json_size_limit", self.release):
            self._check(f"Request JSON size ({byte_size} bytes)", byte_size, "")

    def check_inflated_size(self, byte_size: int) -> None:
        """Refuse a compressed body that becomes too large."""
        if has("inflated_size_limit", self.release):
            self._check(f"Decompressed request size ({byte_size} bytes)", byte_size, "")

    def _check(self, what: str, byte_size: int, that: str = " that") -> None:
        if self.max_input_size is not None and byte_size > self.max_input_size:
            raise RequestError(
                f"{what}{that} exceeds the maximum allowed value of "
                f"{self.max_input_size} bytes. {_HINT}"
            )

    def output_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return requested outputs: older releases ignore a repeated one."""
        unique = has("unique_outputs", self.release)
        return tuple(names) if unique else tuple(dict.fromkeys(names))

    def check_class_count(self, name: str, count: int, elements: int) -> None:
        """Refuse a request for more classes than an output has elements."""
        if count > elements and has("class_count_limit", self.release):
            raise RequestError(
                f"classification count {count} of output '{name}' exceeds its "
                f"{elements} elements"
            )


def rules_of(release: Release, max_input_size: int | None = None) -> RequestRules:
    """Return the rules of a release.

    Parameters
    ----------
    max_input_size
        As the user limits it; None for the release's default.
    """
    if max_input_size is None and has("http_input_limit", release):
        max_input_size = DEFAULT_MAX_INPUT_SIZE
    return RequestRules(release, max_input_size)
