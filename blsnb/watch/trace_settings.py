"""Read and change what a running Triton server traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blsnb.arguments import check_whole
from blsnb.errors import TritonServerError
from blsnb.watch.server_http import ServerHttp

LEVELS = ("OFF", "TIMESTAMPS", "TENSORS")
_PATH = "/v2/trace/setting"


class RemoteTraceSettings:
    """The trace settings of a running server, over HTTP.

    Parameters
    ----------
    url
        Address of its HTTP port, such as ``"http://127.0.0.1:8000"``.

    Raises
    ------
    ValueError
        The address is not a URL of HTTP.
    """

    def __init__(self, url: str) -> None:
        self._http = ServerHttp(url)

    def read(self) -> dict[str, Any]:
        """Return the settings.

        Raises
        ------
        TritonServerError
            The server does not respond.
        """
        return self._request(None)

    def change(
        self,
        *,
        rate: int | None = None,
        level: str | None = None,
        count: int | None = None,
    ) -> dict[str, Any]:
        """Change settings of the running server; return all of them.

        Parameters
        ----------
        rate
            1 of how many requests is traced. A request with a ``traceparent`` is
            always traced.
        level
            ``"OFF"``, ``"TIMESTAMPS"``, or ``"TENSORS"``, of which a server sends no
            more than timestamps in mode ``opentelemetry``.
        count
            Number of requests that are traced from now on; -1 for all.

        Raises
        ------
        TritonServerError
            The server does not respond or refuses the change, or it was started
            without tracing.
        ValueError
            A value is invalid; nothing is sent.
        """
        changes = _checked(rate, level, count)
        if self.read().get("trace_mode") != "opentelemetry":
            raise TritonServerError(
                f"{self._http.name} does not send OpenTelemetry spans. The mode can "
                "only be set when the server is started: --trace-config "
                "mode=opentelemetry. A running server accepts a change and ignores it."
            )
        return self._request(changes) if changes else self.read()

    def _request(self, changes: Mapping[str, Any] | None) -> dict[str, Any]:
        found = self._http.read(_PATH, changes)
        return found if isinstance(found, dict) else {}


def _checked(rate: int | None, level: str | None, count: int | None) -> dict[str, Any]:
    """Return the changes as the server expects them."""
    changes: dict[str, Any] = {}
    if rate is not None:
        check_whole(1, rate=rate)
        changes["trace_rate"] = str(int(rate))
    if level is not None:
        if level.upper() not in LEVELS:
            # A server accepts an unknown level and ignores it.
            known = ", ".join(map(repr, LEVELS))
            raise ValueError(f"level={level!r} is not valid; expected {known}")
        changes["trace_level"] = [level.upper()]
    if count is not None:
        check_whole(-1, count=count)
        changes["trace_count"] = str(int(count))
    return changes


def described(settings: Mapping[str, Any]) -> str:
    """Return the settings in one line."""
    levels = settings.get("trace_level", [])
    level = ", ".join(levels) if isinstance(levels, list) else str(levels)
    count = settings.get("trace_count", "")
    return (
        f"mode {settings.get('trace_mode', 'unknown')}, level {level}, 1 of "
        f"{settings.get('trace_rate', '?')} requests, "
        + ("no limit" if str(count) == "-1" else f"at most {count} more")
    )
