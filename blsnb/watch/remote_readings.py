"""Readings of a real server's counters, for the live monitor."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from blsnb.engine.readings import Reading, VersionReading
from blsnb.errors import TritonServerError
from blsnb.watch.server_http import ServerHttp

UNREACHABLE = "UNREACHABLE"
_TIMEOUT_S = 2.0
_PENDING = re.compile(
    r'^nv_inference_pending_request_count\{model="(?P<model>(?:[^"\\]|\\.)*)",'
    r'version="(?P<version>-?\d+)"\} (?P<count>[\d.]+)$',
    re.MULTILINE,
)


class RemoteReadings:
    """Reads statistics, states and metrics of a real server.

    Its statistics have means only, so that readings have no latest requests; it does
    not report its instances. Where metrics are not available, no request waits.

    Parameters
    ----------
    url
        Address of the server's HTTP port.
    metrics_url
        Address of its metrics port; None for port 8002 of the same host.

    Raises
    ------
    ValueError
        An address is not a URL of HTTP.
    """

    def __init__(self, url: str, metrics_url: str | None = None) -> None:
        self._http = ServerHttp(url)
        host = self._http.host
        host = f"[{host}]" if ":" in host else host
        self._metrics = ServerHttp(metrics_url or f"http://{host}:8002")
        self._last: Reading | None = None

    @property
    def name(self) -> str:
        """The server, as errors name it."""
        return self._http.name

    def read(self) -> Reading:
        """Return the counters; the last ones, marked, if the server does not respond.

        Raises
        ------
        TritonServerError
            The server has never responded.
        """
        try:
            self._last = self._read()
        except TritonServerError as error:
            if self._last is None:
                raise
            lost = (
                each._replace(state=UNREACHABLE, reason=str(error))
                for each in self._last.versions
            )
            self._last = Reading(time.monotonic_ns(), 0, tuple(lost))
        return self._last

    def _read(self) -> Reading:
        found = self._http.read("/v2/models/stats", timeout_s=_TIMEOUT_S)
        index = self._http.read("/v2/repository/index", {}, timeout_s=_TIMEOUT_S)
        pending = self._pending()
        versions = [*_counted(found, pending)]
        known = {each.name for each in versions}
        versions += [each for each in _listed(index) if each.name not in known]
        versions.sort(key=lambda each: (each.name, each.version))
        return Reading(time.monotonic_ns(), sum(pending.values()), tuple(versions))

    def _pending(self) -> dict[tuple[str, int], int]:
        """Return the numbers of waiting requests by model and version."""
        try:
            text = self._metrics.read_text("/metrics", timeout_s=_TIMEOUT_S)
        except TritonServerError:
            return {}
        return {
            (each["model"], int(each["version"])): int(float(each["count"]))
            for each in _PENDING.finditer(text)
        }


def _counted(
    found: Any, pending: dict[tuple[str, int], int]
) -> Iterator[VersionReading]:
    """Yield the model versions that serve."""
    listed = found.get("model_stats") if isinstance(found, dict) else None
    for each in listed or ():
        name, version = str(each.get("name", "")), int(each.get("version") or -1)
        stats = each.get("inference_stats", {})

        def count(kind: str, field: str = "count", stats: Any = stats) -> int:
            return int(stats.get(kind, {}).get(field, 0))

        yield VersionReading(
            name,
            version,
            "READY",
            waiting=pending.get((name, version), 0),
            succeeded=count("success"),
            failed=count("fail"),
            inferences=int(each.get("inference_count", 0)),
            executions=int(each.get("execution_count", 0)),
            queued_ns=count("queue", "ns"),
        )


def _listed(index: Any) -> Iterator[VersionReading]:
    """Yield the models of the repository that were loaded or failed to."""
    for each in index if isinstance(index, list) else ():
        if each.get("state"):
            yield VersionReading(
                str(each.get("name", "")),
                int(each.get("version") or -1),
                str(each["state"]),
                str(each.get("reason", "")),
            )
