"""Read and change what a running Triton server traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from blsnb.arguments import check_text
from blsnb.errors import TritonServerError
from blsnb.watch.server_http import ServerHttp

LEVELS = ("OFF", "TIMESTAMPS", "TENSORS")
_AT_START = (
    "{} can only be set when the server is started: --trace-config {}. A running "
    "server accepts a change and ignores it."
)
_FLAGS = {
    "trace_mode": "mode=opentelemetry",
    "mode": "mode=opentelemetry",
    "url": "opentelemetry,url=URL",
    "bsp_schedule_delay": "opentelemetry,bsp_schedule_delay=500",
    "bsp_max_queue_size": "opentelemetry,bsp_max_queue_size=2048",
    "bsp_max_export_batch_size": "opentelemetry,bsp_max_export_batch_size=512",
    "trace_file": "triton,file=FILE",
}


class RemoteTraceSettings:
    """The trace settings of a running server, over HTTP.

    Parameters
    ----------
    url
        Address of its HTTP port, such as ``"http://127.0.0.1:8000"``.
    model_name
        A model, whose settings override the server's; empty for the server's.

    Raises
    ------
    ValueError
        The address is not a URL of HTTP.
    """

    def __init__(self, url: str, model_name: str = "") -> None:
        check_text(url=url, model_name=model_name)
        self._http = ServerHttp(url)
        scope = f"/models/{quote(model_name, safe='')}" if model_name else ""
        self._path = f"/v2{scope}/trace/setting"

    def read(self) -> dict[str, Any]:
        """Return the settings.

        Raises
        ------
        TritonServerError
            The server does not respond, or has no such model.
        """
        return self._request(None)

    def change(
        self,
        *,
        rate: int | None = None,
        level: str | None = None,
        count: int | None = None,
        **others: Any,
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
            A value is invalid, or the setting cannot change while the server runs;
            nothing is sent.
        """
        changes = _checked(rate, level, count, others)
        if self.read().get("trace_mode") != "opentelemetry":
            raise TritonServerError(
                f"{self._http.name} does not send OpenTelemetry spans. "
                + _AT_START.format("The mode", _FLAGS["mode"])
            )
        return self._request(changes) if changes else self.read()

    def _request(self, changes: Mapping[str, Any] | None) -> dict[str, Any]:
        found = self._http.read(self._path, changes)
        return found if isinstance(found, dict) else {}


def _checked(
    rate: int | None, level: str | None, count: int | None, others: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the changes as the server expects them."""
    for name in others:
        if name not in _FLAGS:
            known = "rate, level and count"
            raise ValueError(f"there is no trace setting {name!r}; expected {known}")
        raise ValueError(_AT_START.format(name, _FLAGS[name]))
    changes: dict[str, Any] = {}
    if rate is not None:
        if rate < 1:
            raise ValueError(f"rate={rate} is not valid; expected 1 or more")
        changes["trace_rate"] = str(rate)
    if level is not None:
        if level.upper() not in LEVELS:
            # A server accepts an unknown level and ignores it.
            known = ", ".join(map(repr, LEVELS))
            raise ValueError(f"level={level!r} is not valid; expected {known}")
        changes["trace_level"] = [level.upper()]
    if count is not None:
        if count < -1:
            raise ValueError(f"count={count} is not valid; expected -1 or more")
        changes["trace_count"] = str(count)
    return changes


def described(settings: Mapping[str, Any]) -> str:
    """Return the settings in one line."""
    levels = settings.get("trace_level", [])
    level = ", ".join(levels) if isinstance(levels, list) else str(levels)
    count = settings.get("trace_count", "")
    return (
        f"mode {settings.get('trace_mode', 'unknown')}, level {level}, 1 of "
        f"{settings.get('trace_rate', '?')} requests, "
        + ("no limit" if str(count) == "-1" else f"{count} more requests")
    )
