"""Options of the served ports, besides those of access control."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from blsnb.arguments import check_flags, check_text, check_type
from blsnb.request_fields import Parameters
from blsnb.serving.core.trace_settings import TraceSetting

Headers = Iterable[tuple[str, str | bytes]]
"""Names and values of headers, in the order in which Triton passes them on."""


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """How the ports answer; the defaults are Triton's.

    Parameters
    ----------
    server_id
        Name of the server in its metadata.
    strict_readiness
        Whether the server is ready only if all loaded models are.
    http_max_input_size
        Maximum bytes of an input in JSON or of a raw body, and of a JSON text; None
        for the release's default.
    http_header_forward_pattern, grpc_header_forward_pattern
        Regular expression for the names of headers that models receive as parameters
        of the request; empty for none.
    trace
        The trace settings at the start.
    log_file
        File of the log, which clients can read but not change; empty for stderr.
    grpc_channel
        Arguments of gRPC for its connections, such as their maximum age.

    Raises
    ------
    TypeError
        An option has another type.
    ValueError
        A size or a pattern is invalid.
    """

    server_id: str = "triton"
    strict_readiness: bool = True
    http_max_input_size: int | None = None
    http_header_forward_pattern: str = ""
    grpc_header_forward_pattern: str = ""
    trace: TraceSetting = field(default_factory=TraceSetting)
    log_file: str = ""
    grpc_channel: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        check_text(server_id=self.server_id, log_file=self.log_file)
        check_flags(strict_readiness=self.strict_readiness)
        check_type("trace", self.trace, TraceSetting, "a TraceSetting")
        size = self.http_max_input_size
        check_type("http_max_input_size", size, int | None, "a number of bytes")
        if size is not None and size <= 0:
            raise ValueError(
                f"http_max_input_size={size} is not valid; expected a number of bytes "
                "greater than 0"
            )
        for protocol in ("http", "grpc"):
            name = f"{protocol}_header_forward_pattern"
            pattern = getattr(self, name)
            check_text(**{name: pattern})
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"{name}={pattern!r} is not a regular expression: {error}"
                ) from None


def forwarded(pattern: str, headers: Headers) -> Parameters:
    """Return the headers whose names match a pattern anywhere, as parameters.

    References
    ----------
    server: src/http_server.cc, HTTPAPIServer::ForwardHeaders;
    src/grpc/grpc_utils.h, SetInferenceRequestMetadata
    """
    if not pattern:
        return {}
    return {
        name: value if isinstance(value, str) else value.decode("utf-8", "replace")
        for name, value in headers
        if re.search(pattern, name)
    }
