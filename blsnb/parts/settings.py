"""The settings of a server, as `blsnb.Server` takes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

from blsnb.arguments import (
    check_flags,
    check_mapping,
    check_names,
    check_numbers,
    check_text,
    check_type,
    check_whole,
)
from blsnb.engine.instance.placement import Placements
from blsnb.engine.metrics.config import parse_metrics_config
from blsnb.engine.scheduling.resource_admission import Counts, parse_rate_limit
from blsnb.engine.settings import Settings
from blsnb.options import check_option
from blsnb.parts.devices import check_runtime
from blsnb.release import parse_release
from blsnb.repository.repository import Roots
from blsnb.runtimes.runtime import Runtime
from blsnb.trace.events import parse_level
from blsnb.trace.recorder import Recorder

_MODELS = 'the name of a model, a list of names, or "*"'
_MODES = "'none', 'poll' or 'explicit'"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServerSettings:
    """The arguments of `blsnb.Server`, which describes them."""

    model_repository: Roots
    startup_models: Sequence[str] | str
    model_control_mode: str
    repository_poll_s: float
    model_config_name: str
    exit_on_error: bool
    strict_model_config: bool
    triton_release: str | None
    trace_level: str
    trace_budget_bytes: int
    keep_calls: int
    keep_runs: int
    hang_notice_s: float
    log_verbose: int
    cache_bytes: int
    rate_limit: str
    rate_limit_resources: Counts | None
    runtime: str | Runtime
    hostile_placement: int | None
    metrics_config: Mapping[str, bool | str] | None
    exit_timeout_s: float
    otlp: str | None
    otlp_rate: int
    otlp_count: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_option(name, value)
        check_mapping(**self._values("rate_limit_resources", "metrics_config"))
        check_text(**self._values("model_config_name", "rate_limit"))
        check_type("model_control_mode", self.model_control_mode, str, _MODES)
        check_flags(**self._values("exit_on_error", "strict_model_config"))
        check_numbers(**self._values("repository_poll_s", "exit_timeout_s"))
        check_whole(cache_bytes=self.cache_bytes)
        if not isinstance(self.startup_models, str):
            check_type("startup_models", self.startup_models, Collection, _MODELS)
            check_names(startup_models=self.startup_models)
        check_type("otlp", self.otlp, str | None, "a URL, or None")
        check_type("otlp_rate", self.otlp_rate, Integral, "a number of requests")
        check_type("otlp_count", self.otlp_count, Integral, "a number of requests")
        check_runtime(self.runtime)

    def _values(self, *names: str) -> dict[str, object]:
        return {name: getattr(self, name) for name in names}

    @property
    def startup_names(self) -> tuple[str, ...]:
        """The startup models; a single name may be a string."""
        names = self.startup_models
        return (names,) if isinstance(names, str) else tuple(names)

    def engine_settings(self, placements: Placements) -> Settings:
        """Return the settings of the engine.

        Raises
        ------
        ValueError
            One is invalid.
        """
        return Settings(
            parse_release(self.triton_release),
            self.hang_notice_s,
            self.strict_model_config,
            int(self.cache_bytes),
            parse_rate_limit(self.rate_limit, self.rate_limit_resources or {}),
            placements,
            parse_metrics_config(self.metrics_config or {}),
        )

    def recorder(self) -> Recorder:
        """Return a recorder.

        Raises
        ------
        ValueError
            There is no such trace level.
        """
        limits = map(int, (self.trace_budget_bytes, self.keep_runs, self.keep_calls))
        return Recorder(parse_level(self.trace_level), *limits)
