"""``blsnb serve`` logs on stderr as tritonserver does."""

from __future__ import annotations

import logging
import re
import signal
import urllib.error
from pathlib import Path

import pytest
from cells import CONFIG

from blsnb.errors import ModelLoadError
from blsnb.inference_server import Server
from blsnb.serving.server_log import TritonFormatter

from .test_serve import X, address_of, ask, serving

FREE = ["--http", "0", "--grpc", "0", "--metrics", "0"]
LINE = re.compile(r'([EWI])\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ ([\w.]+):\d+\] "(.*)"')
ISO = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ([EWI]) \d+ ([\w.]+):\d+\] "(.*)"')
MODEL = """\
import sys

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        pb_utils.Logger.log_info(f"argv {sys.argv}")

    def execute(self, requests):
        logger = pb_utils.Logger
        logger.log_verbose("v")
        logger.log_info("i\\nj")
        logger.log_warn("w")
        logger.log_error("e")
        x = pb_utils.get_input_tensor_by_name(requests[0], "X").as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])]

    def finalize(self):
        raise ValueError("at the end")
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Return a repository of one model that logs."""
    (tmp_path / "models" / "talks" / "1").mkdir(parents=True)
    (tmp_path / "models" / "talks" / "1" / "model.py").write_text(MODEL)
    (tmp_path / "models" / "talks" / "config.pbtxt").write_text(CONFIG)
    return tmp_path / "models"


def logged(models: Path, *options: str, settings: object = None) -> list[str]:
    """Return the log while one request is served."""
    with serving(models, *FREE, *options) as (process, lines):
        http = address_of("HTTP", lines)
        if settings is not None:
            ask(http, "/v2/logging", settings)
        ask(http, "/v2/models/talks/infer", X)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
    assert 0 == process.returncode
    return stderr.splitlines()


def parsed(lines: list[str], pattern: re.Pattern[str] = LINE) -> list[tuple[str, ...]]:
    """Return level, file and text of each line; fail on another format."""
    found = [pattern.fullmatch(line) for line in lines]
    assert None not in found, lines
    return [match.groups() for match in found if match is not None]


def test_the_server_and_its_models_log_in_triton_s_format(models: Path) -> None:
    """Addresses, all levels of the Logger and a failing finalize are logged."""
    found = parsed(logged(models))

    assert [
        ("I", "loader.py", "loading: talks:1"),
        (
            "I",
            "python_instances.py",
            "TRITONBACKEND_ModelInstanceInitialize: talks_0 (CPU device 0)",
        ),
        ("I", "model.py", "argv ['']"),
        ("I", "load_runner.py", "successfully loaded 'talks'"),
    ] == found[:4]
    assert [
        re.sub(r"\d+$", "PORT", text) for _, file, text in found if file == "serve.py"
    ] == [
        "Started HTTPService at 127.0.0.1:PORT",
        "Started GRPCInferenceService at 127.0.0.1:PORT",
        "Started Metrics Service at http://127.0.0.1:PORT/metrics".replace(
            "PORT/metrics", re.findall(r":(\d+)/metrics", str(found))[0] + "/metrics"
        ),
    ]
    models_lines = [row for row in found[4:] if row[1] == "model.py"]
    assert [
        ("I", "model.py", r"i\nj"),
        ("W", "model.py", "w"),
        ("E", "model.py", "e"),
    ] == models_lines[:3]
    level, file, text = models_lines[3]
    assert ("I", "model.py", True) == (level, file, "ValueError: at the end" in text)
    assert ("I", "load_runner.py", "successfully unloaded 'talks' version 1") == found[
        -1
    ]


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        (["--log-info=false"], "WE"),
        (["--log-info=0", "--log-warning=off"], "E"),
        (["--log-info=false", "--log-error=false"], "W"),
    ],
)
def test_a_level_can_be_switched_off(
    models: Path, options: list[str], levels: str
) -> None:
    """It is off from the start."""
    assert levels == "".join(level for level, *_ in parsed(logged(models, *options)))


def test_the_log_settings_of_clients_have_effect(models: Path) -> None:
    """Levels, verbose level and format can change."""
    settings = {"log_verbose_level": 1, "log_warning": False, "log_format": "ISO8601"}
    lines = logged(models, settings=settings)
    found = parsed([line for line in lines if ISO.fullmatch(line)], ISO)
    texts = [text for _, file, text in found if file == "model.py"]

    assert ["v", r"i\nj", "e"] == texts[:3]


def test_verbose_lines_are_logged_with_log_verbose(models: Path) -> None:
    """They have level info, as on Triton."""
    assert ("I", "model.py", "v") in parsed(logged(models, "--log-verbose=1"))


REFUSING = """\
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        x = pb_utils.get_input_tensor_by_name(requests[0], "X")
        for model in ("nope", "talks"):
            pb_utils.InferenceRequest(
                model_name=model,
                requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("Z", x.as_numpy())],
            ).exec()
        sender = requests[0].get_response_sender()
        reply = pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy())])
        sender.send(reply, 1)
        sender.send(reply, 1)
"""
ENSEMBLE = """
platform: "ensemble"
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
ensemble_scheduling { step {
    model_name: "gone" model_version: -1
    input_map { key: "X" value: "X" } output_map { key: "Y" value: "Y" }
} }
"""
FAILING = """\
class TritonPythonModel:
    def initialize(self, args):
        raise ValueError("\\x9b31m \\u202e")
"""


def test_what_is_refused_and_what_fails_appears(models: Path) -> None:
    """BLS requests, sends, executions, loads, configurations; safe to print."""
    for name, source in {"refusing": REFUSING, "failing": FAILING}.items():
        (models / name / "1").mkdir(parents=True)
        (models / name / "1" / "model.py").write_text(source)
        (models / name / "config.pbtxt").write_text(CONFIG)
    (models / "broken" / "1").mkdir(parents=True)
    (models / "broken" / "config.pbtxt").write_text("input 5")
    (models / "steps" / "1").mkdir(parents=True)
    (models / "steps" / "config.pbtxt").write_text(ENSEMBLE)

    def at(model: str, line: int) -> str:
        return f"\\n\\nAt:\\n  {models}/{model}/1/model.py({line})"

    with serving(models, *FREE, "--keep-going") as (process, lines):
        ask(address_of("HTTP", lines), "/v2/models/refusing/infer", X)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
    found = [(level, text) for level, _, text in parsed(stderr.splitlines())]
    one = "Unable to send response. Non-decoupled model cannot send more than one "
    asking = "a BLS request of 'refusing_0' was refused: Model "

    assert [
        (
            "E",
            "Failed to process the request(s) for model 'refusing_0', message: "
            f"TritonModelException: {one}response.{at('refusing', 17)}: execute\\n",
        ),
        ("E", "Internal: failed to load all models"),
        (
            "E",
            "Invalid argument: ensemble steps contains models that are not available "
            "or ambiguous: gone",
        ),
        (
            "E",
            "Poll failed for model directory 'broken': failed to read text proto from "
            f"{models}/broken/config.pbtxt",
        ),
        (
            "E",
            "failed to load 'failing' version 1: Internal: ValueError: ⟨U+009B⟩31m "
            f"⟨U+202E⟩{at('failing', 3)}: initialize\\n",
        ),
        ("W", f"{one}response."),
        (
            "W",
            f"{asking}nope - Error when running inference: Request for unknown model: "
            "'nope' is not found",
        ),
        (
            "W",
            f"{asking}talks - Error when running inference: unexpected inference input "
            "'Z' for model 'talks'",
        ),
    ] == sorted(each for each in found if each[0] != "I")
    assert ("I", "failed to load 'failing'") in found


def test_a_notebook_shows_no_events(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's logging has them, at the level INFO."""
    with pytest.raises(ModelLoadError):
        server.define("failing", FAILING, config=CONFIG)

    assert ("", "") == capsys.readouterr()


def test_the_place_of_a_line_cannot_forge_another() -> None:
    """A model chooses the name of the file that it compiles."""
    record = logging.makeLogRecord(
        {"msg": "m", "triton_place": "a\nE1122 forged", "levelno": logging.INFO}
    )

    assert "\n" not in TritonFormatter().format(record)


def test_the_access_token_is_not_logged(models: Path, tmp_path: Path) -> None:
    """It is printed once, where the user started the server."""
    log = tmp_path / "log"
    words = ["--access-token=all", f"--log-file={log}", "--log-verbose=9"]
    with serving(models, *FREE, *words) as (process, lines):
        [token] = [
            line.split(": ")[2] for line in lines if line.startswith("header over HTTP")
        ]
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(address_of("HTTP", lines), "/v2/models/talks")
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=60)

    refused.value.close()
    assert 403 == refused.value.code
    assert token not in log.read_text() + stdout + stderr
