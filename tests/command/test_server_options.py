"""``blsnb serve`` with a command line of tritonserver."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

import pytest

from blsnb.command.arguments import CommandError
from blsnb.command.serve import flags
from blsnb.command.server_options import (
    apply_ports,
    check_server_options,
    server_arguments,
)

from .test_serve import X, address_of, ask, serving, write_model


def given(*words: str) -> argparse.Namespace:
    """Return parsed options."""
    return flags().parse_args(["models", *words])


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ([], "exit_on_error", True),
        (["--exit-on-error=false"], "exit_on_error", False),
        (["--disable-auto-complete-config"], "strict_model_config", True),
        (["--strict-model-config=1"], "strict_model_config", True),
        (["--model-config-name=fast"], "model_config_name", "fast"),
        (["--repository-poll-secs=3"], "repository_poll_s", 3),
        (["--exit-timeout-secs", "7"], "exit_timeout_s", 7),
        (["--rate-limit=execution_count"], "rate_limit", "execution_count"),
        (["--rate-limit-resource=R:2"], "rate_limit_resources", {"R": 2}),
        (
            ["--rate-limit-resource=R:2:0", "--rate-limit-resource=R:4:1"],
            "rate_limit_resources",
            {"R": {0: 2, 1: 4}},
        ),
        (["--cache-config=local,size=1048576"], "cache_bytes", 1048576),
        (["--response-cache-byte-size=64"], "cache_bytes", 64),
        (
            ["--metrics-config=summary_latencies=true"],
            "metrics_config",
            {"summary_latencies": True},
        ),
        (["--trace-config=level=TIMESTAMPS"], "trace_level", "timestamps"),
    ],
)
def test_an_option_becomes_the_server_s_argument(
    words: list[str], name: str, value: object
) -> None:
    """Under the name that tritonserver has."""
    assert value == server_arguments(given(*words))[name]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--grpc-use-ssl=true"], "--grpc-use-ssl is not supported: its gRPC has no"),
        (["--grpc-server-cert=f"], "--grpc-server-cert is not supported"),
        (["--http-max-input-size=9"], "--http-max-input-size is not supported"),
        (["--http-header-forward-pattern=.*"], "headers are not forwarded"),
        (["--model-namespacing=true"], "--model-namespacing is not supported"),
        (["--strict-readiness=false"], "--strict-readiness=false is not supported"),
        (["--cache-config=local"], "No cache specified. --cache-config option format"),
        (["--cache-config=redis,host=h"], "expected local,size=BYTES"),
        (["--metrics-config=a"], "option format is <setting>=<value>. Got a"),
        (["--rate-limit-resource=R:x"], "--rate-limit-resource option format is"),
        (["--trace-config=level=FOO"], "invalid value for trace level option: foo"),
        (["--http-address=::1", "--grpc-address=127.0.0.1"], "the addresses"),
        (["--log-info=maybe"], "invalid value for bool option: maybe"),
    ],
)
def test_an_option_that_protects_is_never_ignored(words: list[str], text: str) -> None:
    """And a value in another format is refused."""

    def check() -> None:
        options = given(*words)
        check_server_options(options)
        apply_ports(options)
        server_arguments(options)

    with pytest.raises(CommandError) as failed:
        check()

    assert text in str(failed.value)


def test_an_option_without_effect_is_named() -> None:
    """Once; the protecting ones are accepted where they are switched off."""
    options = given(
        "--grpc-use-ssl=false",
        "--pinned-memory-pool-byte-size=0",
        "--cuda-memory-pool-byte-size=0:0",
        "--cuda-memory-pool-byte-size=1:0",
    )

    assert [
        "--pinned-memory-pool-byte-size has no effect here",
        "--cuda-memory-pool-byte-size has no effect here",
    ] == check_server_options(options)


def test_a_command_line_of_tritonserver_carries_over(tmp_path: Path) -> None:
    """Repository, ports, address, and what has no effect here."""
    write_model(tmp_path, "one")
    words = [
        f"--model-repository={tmp_path}",
        *("--http-port=0", "--grpc-port=0", "--http-address=127.0.0.1"),
        *("--allow-metrics=false", "--model-control-mode=explicit"),
        *("--load-model=one", "--log-info=false", "--http-thread-count=8"),
    ]
    with serving(*words) as (process, lines):
        assert [2, 4] == ask(address_of("HTTP", lines), "/v2/models/one/infer", X)[
            "outputs"
        ][0]["data"]
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=30)

    assert not [line for line in lines if line.startswith("metrics")]
    assert stderr.endswith('"--http-thread-count has no effect here"\n')
    assert 1 == stderr.count("\n")
