"""Options of tritonserver that ``blsnb serve`` accepts under the same names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from blsnb.command.arguments import CommandError, Parser
from blsnb.command.trace_options import (
    TRACE_OPTIONS,
    collector_arguments,
    trace_level,
    trace_settings,
    unused_settings,
)
from blsnb.engine.response_cache import parse_size
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.core.trace_settings import TraceSetting

_WITHOUT_EFFECT = (
    *("model-load-thread-count", "model-load-retry-count"),
    *("enable-peer-access", "reuse-http-port", "reuse-grpc-port", "http-thread-count"),
    *("grpc-infer-allocation-pool-size", "grpc-infer-response-compression-level"),
    "grpc-max-response-pool-size",
    *("sagemaker-port", "sagemaker-thread-count"),
    *("vertex-ai-port", "vertex-ai-thread-count", "vertex-ai-default-model"),
    *("allow-gpu-metrics", "allow-cpu-metrics"),
    *("metrics-interval-ms", "backend-directory", "backend-config"),
    *("repoagent-directory", "cache-directory", "pinned-memory-pool-byte-size"),
    *("cuda-memory-pool-byte-size", "cuda-virtual-address-size"),
    *("min-supported-compute-capability", "buffer-manager-thread-count"),
    "host-policy",
)
"""Options on whose values no client and no model can rely."""
_REFUSED = {
    "grpc-server-cert": "its gRPC has no TLS",
    "grpc-server-key": "its gRPC has no TLS",
    "grpc-root-cert": "its gRPC has no TLS",
    "model-load-gpu-limit": "GPU memory is not limited",
    "sagemaker-safe-port-range": "there is no SageMaker endpoint",
}
"""Options that protect the server, or that models or clients rely on."""
_REFUSED_IF_TRUE = {
    "grpc-use-ssl": "its gRPC has no TLS",
    "grpc-use-ssl-mutual": "its gRPC has no TLS",
    "allow-sagemaker": "there is no SageMaker endpoint",
    "allow-vertex-ai": "there is no Vertex AI endpoint",
    "model-namespacing": "model names are unique",
}
_GRPC_CHANNEL = {
    "grpc-keepalive-time": "grpc.keepalive_time_ms",
    "grpc-keepalive-timeout": "grpc.keepalive_timeout_ms",
    "grpc-http2-max-pings-without-data": "grpc.http2.max_pings_without_data",
    "grpc-http2-min-recv-ping-interval-without-data": (
        "grpc.http2.min_ping_interval_without_data_ms"
    ),
    "grpc-http2-max-ping-strikes": "grpc.http2.max_ping_strikes",
    "grpc-max-connection-age": "grpc.max_connection_age_ms",
    "grpc-max-connection-age-grace": "grpc.max_connection_age_grace_ms",
}
"""Arguments of gRPC that options with a number set."""
_TRACE_LEVELS = "{OFF,TIMESTAMPS,TENSORS}"
_PERMIT_PINGS = "grpc-keepalive-permit-without-calls"
_FORMS = (
    ("rate-limit-resource", "NAME:COUNT[:DEVICE]"),
    ("cache-config", "local,size=BYTES"),
    ("metrics-config", "SETTING=VALUE"),
    ("trace-config", "SETTING=VALUE"),
)
_BOOLEANS = {
    "true": True,
    "1": True,
    "on": True,
    "false": False,
    "0": False,
    "off": False,
}


def boolean(text: str) -> bool:
    """Parse a boolean as tritonserver does.

    References
    ----------
    server: src/command_line_parser.cc, ParseOption
    """
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise argparse.ArgumentTypeError(f"invalid value for bool option: {text}")
    return value


def add_server_options(parser: Parser) -> None:
    """Add the options of tritonserver; each has the meaning that it has there."""
    group = parser.add_argument_group(
        "options of tritonserver",
        "An option without meaning here is accepted, with a "
        "line on stderr; one that protects, such as TLS, is refused.",
    )
    add = group.add_argument
    for name in ("--model-repository", "--model-store"):
        add(name, dest="more_repositories", action="append", default=[], metavar="PATH")
    for name in ("http", "grpc", "metrics"):
        add(f"--{name}-port", type=int, metavar="PORT")
        add(f"--{name}-address", metavar="ADDRESS")
        add(f"--allow-{name}", type=boolean, metavar="BOOLEAN")
    for name in ("exit-on-error", "strict-model-config", "strict-readiness"):
        add(f"--{name}", type=boolean, metavar="BOOLEAN")
    add("--disable-auto-complete-config", action="store_true")
    add("--model-config-name", default="", metavar="NAME")
    add("--repository-poll-secs", type=int, default=15, metavar="SECONDS")
    add("--exit-timeout-secs", type=int, default=30, metavar="SECONDS")
    limits = ("off", "execution_count")
    add("--rate-limit", type=str.lower, choices=limits, default="off")
    add("--response-cache-byte-size", type=int, metavar="BYTES")
    add("--trace-level", action="append", default=[], metavar=_TRACE_LEVELS)
    add("--id", default="triton", metavar="NAME")
    for name in ("http", "grpc"):
        add(f"--{name}-header-forward-pattern", default="", metavar="REGEX")
    for name, form in _FORMS:
        add(f"--{name}", action="append", default=[], metavar=form)
    _add_hidden(parser)


def _add_hidden(parser: Parser) -> None:
    """Add the options that the help leaves out: deprecated or without effect."""
    add = parser.add_argument
    for name in TRACE_OPTIONS:
        add(f"--{name}", help=argparse.SUPPRESS)
    for name in (*_WITHOUT_EFFECT, *_REFUSED):
        add(f"--{name}", action="append", help=argparse.SUPPRESS)
    for name in (*_REFUSED_IF_TRUE, _PERMIT_PINGS):
        add(f"--{name}", type=boolean, help=argparse.SUPPRESS)
    for name in _GRPC_CHANNEL:
        add(f"--{name}", type=int, help=argparse.SUPPRESS)


def check_server_options(given: argparse.Namespace) -> list[str]:
    """Refuse options that cannot be followed; return a line for each without effect.

    Raises
    ------
    CommandError
        An option is not supported.
    """
    for name, reason in (_REFUSED | _REFUSED_IF_TRUE).items():
        if _value(given, name):
            raise CommandError(f"--{name} is not supported: {reason}")
    unused = [name for name in _WITHOUT_EFFECT if _value(given, name) is not None]
    lines = [f"--{name} has no effect here" for name in unused]
    unused_traces = unused_settings(given)
    if unused_traces:
        lines.append(
            f"the trace settings {', '.join(unused_traces)} are kept for clients, and "
            "have no effect: every request is recorded, and no trace file is written"
        )
    return lines


def _value(given: argparse.Namespace, name: str) -> Any:
    return getattr(given, name.replace("-", "_"))


def apply_ports(given: argparse.Namespace) -> None:
    """Set ports and address from the options that have tritonserver's names.

    Raises
    ------
    CommandError
        The protocols have different addresses.
    """
    hosts = set()
    for name in ("http", "grpc", "metrics"):
        if (port := _value(given, f"{name}-port")) is not None:
            setattr(given, name, port)
        if _value(given, f"allow-{name}") is False:
            setattr(given, name, None)
        hosts.add(_value(given, f"{name}-address"))
    hosts.discard(None)
    if len(hosts) > 1:
        raise CommandError(
            f"the addresses {', '.join(sorted(hosts))} differ; expected the same one "
            "for all protocols"
        )
    if hosts:
        [given.host] = hosts


def server_arguments(given: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `blsnb.Server` that options of tritonserver set.

    Raises
    ------
    CommandError
        A value has another format; in Triton's words where there are some.
    """
    strict = given.disable_auto_complete_config or bool(given.strict_model_config)
    return {
        "strict_model_config": strict,
        "exit_on_error": given.exit_on_error is not False and not given.keep_going,
        "model_config_name": given.model_config_name,
        "repository_poll_s": given.repository_poll_secs,
        "exit_timeout_s": given.exit_timeout_secs,
        "rate_limit": given.rate_limit,
        "rate_limit_resources": _resources(given.rate_limit_resource) or None,
        "cache_bytes": _cache_bytes(given),
        "metrics_config": dict(_metrics(given.metrics_config)) or None,
        **trace_level(given),
        **collector_arguments(given),
    }


def _resources(texts: list[str]) -> dict[str, Any]:
    """Return units of each resource by device; by None those of any other device.

    References
    ----------
    core: src/tritonserver.cc, TritonServerOptions::AddRateLimiterResource
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, *numbers = text.split(":")
        if len(numbers) not in (1, 2) or not all(map(str.isdecimal, numbers)):
            raise CommandError(
                f"--rate-limit-resource option format is '<resource_name>:<count>:"
                f"<device>' or '<resource_name>:<count>'. Got {text}"
            )
        count, device = int(numbers[0]), int(numbers[1]) if numbers[1:] else None
        by_device = found.setdefault(name, {})
        by_device[device] = min(count, by_device.get(device, count))
    return found


def _cache_bytes(given: argparse.Namespace) -> int:
    """Return the size of the response cache; 0 without one.

    References
    ----------
    server: src/command_line_parser.cc, Parse; core: src/server.cc, InferenceServer
    """
    settings = dict(map(_cache_setting, given.cache_config))
    if given.response_cache_byte_size is not None:
        if settings:
            raise CommandError(
                "Incompatible flags --response-cache-byte-size and --cache-config both "
                "provided. Please provide one or the other."
            )
        settings = {("local", "size"): str(given.response_cache_byte_size)}
    names = {name for name, _ in settings}
    if len(names) > 1:
        raise CommandError(
            "creating server: Invalid argument - found multiple cache configurations, "
            "but only a single cache is currently supported"
        )
    if names - {"local"}:
        raise CommandError(
            f"the cache {names.pop()!r} is not supported; expected "
            "--cache-config=local,size=BYTES"
        )
    try:
        return parse_size(settings.get(("local", "size"))) if settings else 0
    except ValueError as error:
        raise CommandError(f"creating server: {error}") from error


def _cache_setting(text: str) -> tuple[tuple[str, str], str]:
    """Return the cache, the setting and its value.

    References
    ----------
    server: src/command_line_parser.cc, ParseCacheConfigOption
    """
    name, comma, assignment = text.partition(",")
    setting, _, value = assignment.partition("=")
    form = "--cache-config option format is"
    if not (comma and name):
        raise CommandError(
            f"No cache specified. {form} <cache name>,<setting>=<value>. Got {text}"
        )
    if not (setting and value):
        raise CommandError(f"{form} '<cache name>,<setting>=<value>'. Got {text}")
    return (name, setting), value


def _metrics(texts: list[str]) -> Iterator[tuple[str, bool | str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise CommandError(
                f"--metrics-config option format is <setting>=<value>. Got {text}"
            )
        yield name, _BOOLEANS.get(value.lower(), value)


def serving_options(given: argparse.Namespace) -> ServingOptions:
    """Return the options of the ports.

    Raises
    ------
    ValueError
        A value is invalid.
    """
    return ServingOptions(
        server_id=given.id,
        strict_readiness=given.strict_readiness is not False,
        http_max_input_size=given.http_max_input_size,
        http_header_forward_pattern=given.http_header_forward_pattern,
        grpc_header_forward_pattern=given.grpc_header_forward_pattern,
        trace=TraceSetting(**trace_settings(given)),
        log_file=given.log_file,
        grpc_channel=tuple(_grpc_channel(given)),
    )


def _grpc_channel(given: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Yield the arguments of gRPC that keep connections alive, or end them.

    References
    ----------
    server: src/grpc/grpc_server.cc, Server::Server
    """
    for option, name in _GRPC_CHANNEL.items():
        if (value := _value(given, option)) is not None:
            yield name, value
    if (permits := _value(given, _PERMIT_PINGS)) is not None:
        yield "grpc.keepalive_permit_without_calls", int(permits)
