"""``blsnb serve`` with a command line of tritonserver."""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cells import cell
from conformance.reference import real_environment
from reviewed import reviewed

from blsnb.command.arguments import CommandError
from blsnb.command.serve import flags
from blsnb.command.server_options import (
    apply_ports,
    check_server_options,
    server_arguments,
    serving_options,
)
from blsnb.serving.core.trace_settings import TraceSetting

from .test_serve import X, address_of, ask, serving, write_model

OPENTELEMETRY = "--trace-config=mode=opentelemetry"


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
        (["--rate-limit=Execution_Count"], "rate_limit", "execution_count"),
        (["--rate-limit-resource=R:2"], "rate_limit_resources", {"R": {None: 2}}),
        (
            [f"--rate-limit-resource={each}" for each in ("R:2", "R:4:1", "R:8:1")],
            "rate_limit_resources",
            {"R": {None: 2, 1: 4}},
        ),
        (["--cache-config=local,size=1048576"], "cache_bytes", 1048576),
        (["--response-cache-byte-size=192"], "cache_bytes", 192),
        (
            ["--metrics-config=summary_latencies=true"],
            "metrics_config",
            {"summary_latencies": True},
        ),
        (["--trace-config=level=TIMESTAMPS"], "trace_level", "timestamps"),
        (
            ["--trace-config=level=TENSORS", "--trace-config=level=TIMESTAMPS"],
            "trace_level",
            "tensors",
        ),
        (["--trace-level=OFF"], "trace_level", "off"),
        (["--trace-level=tensors"], "trace_level", "tensors"),
        (["--trace-config=level=min"], "trace_level", "timestamps"),
        (
            ["--trace-level=MAX", "--trace-config=level=off"],
            "trace_level",
            "timestamps",
        ),
        (["--trace-level=false", "--trace-config=level=MAX"], "trace_level", "off"),
    ],
)
def test_an_option_becomes_the_server_s_argument(
    words: list[str], name: str, value: object
) -> None:
    """It has tritonserver's name."""
    assert value == server_arguments(given(*words))[name]


TRACE = TraceSetting()
ECHO = cell(
    "parameters = json.loads(request.parameters())\n"
    "return [reply(np.float32([len(parameters.get('X-Who', ''))]))]"
).replace("import stage", "import json")


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ([], "http_max_input_size", None),
        (["--http-max-input-size=9"], "http_max_input_size", 9),
        (["--http-header-forward-pattern=x-"], "http_header_forward_pattern", "x-"),
        (["--grpc-header-forward-pattern=x-"], "grpc_header_forward_pattern", "x-"),
        (["--id=mine"], "server_id", "mine"),
        ([], "strict_readiness", True),
        (["--strict-readiness=0"], "strict_readiness", False),
        (["--log-file=f"], "log_file", "f"),
        ([], "trace", TRACE),
        (["--trace-config=level=OFF"], "trace", TRACE),
        (["--trace-config=mode=Triton"], "trace", TRACE),
        (["--trace-config=rate=5"], "trace", replace(TRACE, trace_rate=5)),
        (["--trace-rate= 5.5"], "trace", replace(TRACE, trace_rate=5)),
        (["--trace-rate=-1"], "trace", replace(TRACE, trace_rate=2**32 - 1)),
        (["--trace-count=-2"], "trace", replace(TRACE, trace_count=-2)),
        (["--trace-config=count=5"], "trace", replace(TRACE, trace_count=5)),
        (["--trace-config=triton,file=f"], "trace", replace(TRACE, trace_file="f")),
        (["--trace-file=f"], "trace", replace(TRACE, trace_file="f")),
        (
            ["--trace-config=triton,log-frequency=5"],
            "trace",
            replace(TRACE, log_frequency=5),
        ),
        (["--trace-level=TENSORS"], "trace", replace(TRACE, trace_level=("TENSORS",))),
        (
            ["--trace-level=TENSORS", "--trace-level=on", "--trace-level=TENSORS"],
            "trace",
            replace(TRACE, trace_level=("TIMESTAMPS", "TENSORS")),
        ),
        (["--trace-level=on", "--trace-level=off"], "trace", TRACE),
        (["--trace-count=5"], "trace", replace(TRACE, trace_count=5)),
        (["--trace-log-frequency=5"], "trace", replace(TRACE, log_frequency=5)),
        ([], "grpc_channel", ()),
        (
            ["--grpc-keepalive-time=1", "--grpc-keepalive-timeout=2"],
            "grpc_channel",
            (("grpc.keepalive_time_ms", 1), ("grpc.keepalive_timeout_ms", 2)),
        ),
        (
            ["--grpc-keepalive-permit-without-calls=true"],
            "grpc_channel",
            (("grpc.keepalive_permit_without_calls", 1),),
        ),
        (
            [
                "--grpc-http2-max-pings-without-data=1",
                "--grpc-http2-min-recv-ping-interval-without-data=2",
                "--grpc-http2-max-ping-strikes=3",
            ],
            "grpc_channel",
            (
                ("grpc.http2.max_pings_without_data", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", 2),
                ("grpc.http2.max_ping_strikes", 3),
            ),
        ),
        (
            ["--grpc-max-connection-age=1", "--grpc-max-connection-age-grace=2"],
            "grpc_channel",
            (
                ("grpc.max_connection_age_ms", 1),
                ("grpc.max_connection_age_grace_ms", 2),
            ),
        ),
    ],
)
def test_an_option_becomes_one_of_the_ports(
    words: list[str], name: str, value: object
) -> None:
    """Under the name that tritonserver has."""
    assert value == getattr(serving_options(given(*words)), name)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--http-port=1"], "http", 1),
        (["--grpc-port=1"], "grpc", 1),
        (["--metrics-port=1"], "metrics", 1),
        (["--allow-http=false"], "http", None),
        (["--allow-grpc=0", "--grpc-port=1"], "grpc", None),
        (["--allow-metrics=off"], "metrics", None),
        (["--metrics-address=::1"], "host", "::1"),
        (["--model-store=more"], "more_repositories", ["more"]),
        (["--log-format=ISO8601"], "log_format", "ISO8601"),
    ],
)
def test_an_option_sets_a_port_or_a_path(
    words: list[str], name: str, value: object
) -> None:
    """A protocol that is not allowed has no port."""
    options = given(*words)
    apply_ports(options)
    assert value == getattr(options, name)


REFUSED = [
    *("--grpc-use-ssl=true", "--grpc-use-ssl-mutual=true", "--grpc-server-cert=f"),
    *("--grpc-server-key=f", "--grpc-root-cert=f", "--model-namespacing=true"),
    *("--model-load-gpu-limit=0:1", "--sagemaker-safe-port-range=1-2"),
    *("--allow-sagemaker=true", "--allow-vertex-ai=true"),
    *("--http-max-input-size=0", "--http-header-forward-pattern=["),
    *("--cache-config=redis,host=h", "--cache-config=local,size=x"),
    "--rate-limit-resource=R:1:2:3",
    *("--metrics-config=a", "--rate-limit-resource=R", "--rate-limit-resource=R:x"),
    *("--trace-config=level=FOO", "--trace-config=level", "--trace-config=rate=x"),
    *("--trace-config=foo=1", "--trace-config=triton,x=1", "--trace-config=mode=x"),
    *("--trace-config=opentelemetry,resource=a=b", "--trace-config=x,file=f"),
    "--trace-config=count=2147483648",
    "--http-address=::1 --grpc-address=127.0.0.1",
    "--log-info=maybe",
]


def check(*words: str) -> None:
    """Use options as the command does."""
    options = given(*words)
    check_server_options(options)
    apply_ports(options)
    server_arguments(options)
    serving_options(options)


def refusal(*words: str) -> str:
    """Return the text with which options are refused."""
    with pytest.raises((CommandError, ValueError)) as failed:
        check(*words)
    return str(failed.value)


def test_an_option_that_protects_is_never_ignored() -> None:
    """A value in another format is refused, too; the texts are reviewed."""
    texts = "".join(f"{each}\n    {refusal(*each.split())}\n" for each in REFUSED)

    assert reviewed(Path(__file__).with_name("refused_options.txt"), texts) == texts


def test_an_option_without_effect_is_named() -> None:
    """It is named once; protecting options are accepted if switched off."""
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


def test_trace_settings_without_effect_have_one_line() -> None:
    """The level has an effect."""
    line = (
        "the trace settings rate, triton,file are kept for clients, and have no effect:"
        " every request is recorded, and no trace file is written"
    )

    assert [] == check_server_options(given("--trace-config=level=TENSORS"))
    assert [line] == check_server_options(
        given("--trace-config=rate=1", "--trace-config=triton,file=f", "--trace-rate=2")
    )


def test_a_collector_receives_nothing_until_a_port_is_open() -> None:
    """Its trace setting then decides; the recorder is on, as a client may change it."""
    url = "http://localhost:4318/v1/traces"
    own = "--trace-config=OpenTelemetry,url=http://127.0.0.1:5/v1/traces"
    several = ["--trace-config=rate=3", "--trace-count=4", "--trace-level=TIMESTAMPS"]
    off = [OPENTELEMETRY, "--trace-level=OFF"]
    settings = [[], [OPENTELEMETRY], off, [OPENTELEMETRY, own, *several]]
    names = "otlp", "otlp_count", "trace_level"
    found = [server_arguments(given(*words)) for words in settings]

    assert [
        (None, None, None),
        (url, 0, None),
        (url, 0, "timestamps"),
        ("http://127.0.0.1:5/v1/traces", 0, "timestamps"),
    ] == [tuple(each.get(name) for name in names) for each in found]
    assert [] == check_server_options(given(OPENTELEMETRY, own, *several))


ROWS = Path(__file__).with_name("tritonserver_options.txt")
TABLE = {
    name: words
    for line in ROWS.read_text().splitlines()
    if not line.startswith("#")
    for name, *words in [line.split()]
}
"""What is done with each option."""


def listed(word: str) -> list[str]:
    """Return the options with a word in the table."""
    return [name for name, words in TABLE.items() if word in words]


BOOLEAN = ("grpc-use-ssl", "grpc-use-ssl-mutual", "allow-sagemaker", "allow-vertex-ai")


def test_every_option_of_tritonserver_is_known() -> None:
    """The parser has those of the table, and no others."""
    words = [
        word.removeprefix("--")
        for action in flags()._actions
        for word in action.option_strings
        if word.startswith("--")
    ]
    assert sorted(TABLE) == sorted(words)


def test_the_real_program_has_no_further_option() -> None:
    """The list is that of its help."""
    env = real_environment()
    told = subprocess.run(
        [str(env.server), "--help"],
        env=env.variables(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = re.findall(r"^ +--([a-z0-9-]+)", told.stdout + told.stderr, re.M)

    later = {*listed("own"), *listed("newer")}
    assert sorted(TABLE.keys() - later) == sorted(set(found))


@pytest.mark.parametrize("name", listed("line"))
def test_an_accepted_option_has_a_line(name: str) -> None:
    """Where it has no effect."""
    assert [f"--{name} has no effect here"] == check_server_options(
        given(f"--{name}=1")
    )


@pytest.mark.parametrize("name", listed("refused"))
def test_a_refused_option_has_a_reason(name: str) -> None:
    """It protects, or models or clients rely on it."""
    value = "true" if name in (*BOOLEAN, "model-namespacing") else "x"

    with pytest.raises(CommandError, match=f"^--{name} is not supported: "):
        check_server_options(given(f"--{name}={value}"))


def test_the_reason_for_refusing_namespaces_is_the_whole_text() -> None:
    """One repository cannot have two models of a name."""
    with pytest.raises(CommandError, match=r" not supported: model names are unique$"):
        check_server_options(given("--model-namespacing=true"))


def test_a_command_line_of_tritonserver_carries_over(tmp_path: Path) -> None:
    """Repository, ports and address work; options without effect are named."""
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
        _, stderr = process.communicate(timeout=60)

    assert not [line for line in lines if line.startswith("metrics")]
    assert stderr.endswith('"--http-thread-count has no effect here"\n')
    assert 1 == stderr.count("\n")


def test_options_of_the_ports_have_effect(tmp_path: Path) -> None:
    """The size limit, forwarded headers, the server's name, readiness, the log."""
    write_model(tmp_path / "models", "one", ECHO)
    write_model(tmp_path / "models", "bad", "1/0")
    log = tmp_path / "log"
    log.write_text("before\n")
    words = [
        *(f"--model-repository={tmp_path / 'models'}", f"--log-file={log}"),
        *("--http-port=0", "--grpc-port=0", "--allow-metrics=false"),
        *("--exit-on-error=false", "--strict-readiness=false", "--id=mine"),
        *("--http-max-input-size=999", "--http-header-forward-pattern=^X-"),
        *("--trace-config=rate=7", "--http-thread-count=8"),
    ]
    with serving(*words) as (process, lines):
        http = address_of("HTTP", lines)
        found = [
            ask(http, path) for path in ("/v2", "/v2/logging", "/v2/trace/setting")
        ]
        request = urllib.request.Request(
            f"http://{http}/v2/models/one/infer",
            json.dumps(X).encode(),
            {"X-Who": "me"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = json.load(answer)["outputs"][0]["data"]
        with urllib.request.urlopen(f"http://{http}/v2/health/ready") as answer:
            ready = answer.status
        large = {**X["inputs"][0], "shape": [250], "data": [0] * 250}
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(http, "/v2/models/one/infer", {"inputs": [large]})
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)

    names, logging, trace = found
    assert ("mine", str(log), "7") == (
        names["name"],
        logging["log_file"],
        trace["trace_rate"],
    )
    assert ([2.0], 200, 400) == (told, ready, refused.value.code)
    assert b"exceeds the maximum allowed value of 999" in refused.value.read()
    assert "" == stderr
    first, *rest = log.read_text().splitlines()
    assert "before" == first
    assert '"--http-thread-count has no effect here"' in rest[0]
    assert any("Started HTTPService at" in line for line in rest)


def test_a_log_file_that_cannot_be_written_is_refused(
    tmp_path: Path, blsnb: Any
) -> None:
    """The error is one line."""
    (tmp_path / "models").mkdir()
    ended = blsnb("serve", tmp_path / "models", f"--log-file={tmp_path}/no/log")

    assert (2, "") == (ended.status, ended.stdout)
    assert (
        f"blsnb serve: --log-file={tmp_path}/no/log cannot be written: No such file or "
        "directory\n"
    ) == ended.stderr
