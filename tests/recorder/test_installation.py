"""Specification of ``blsnb recorder``: its files in an environment."""

from __future__ import annotations

import ast
import contextlib
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from blsnb.command.program import main
from blsnb.parity.triton.environment import TritonEnv
from blsnb.recorder.installation import (
    RecorderError,
    RecorderFiles,
    recorder_files,
)
from blsnb.recorder.stub.settings import RecorderSettings
from blsnb.recorder.stub.start import BackendFinder, _source, process_facts, start

BACKEND = "c_python_backend_utils"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A Python environment without packages."""
    folder = tmp_path_factory.mktemp("environment") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture
def command(environment, capsys):
    """Run the subcommand; return its output."""

    def run(action, python=environment):
        status = main(["recorder", action, "--python", str(python)])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def _files(environment):
    return sorted(path.name for path in environment.rglob("*blsnb*"))


def _packages(environment):
    version = ".".join(map(str, sys.version_info[:2]))
    return environment / "lib" / f"python{version}" / "site-packages"


def test_install_status_and_uninstall(command, environment):
    """Two files come and go; both actions may be repeated."""
    missing = f"The recorder is not installed in {_packages(environment)}.\n"
    there = f"The recorder is installed in {_packages(environment)}."
    installed = f"{there} Start the server with BLSNB_RECORD=FOLDER to record.\n"
    removed = f"The recorder is removed from {_packages(environment)}.\n"

    assert (0, missing) == command("status")
    assert [(0, installed)] * 2 == [command("install"), command("install")]
    assert (0, f"{there}\n") == command("status")
    assert ["blsnb_recorder.pth", "blsnb_recorder.py"] == _files(environment)
    assert [(0, removed), (0, missing)] == [command("uninstall"), command("uninstall")]
    assert [] == _files(environment)


def test_the_arguments_of_a_process_are_those_it_was_started_with():
    """They have the folder and the instance of a model."""
    code = "from blsnb.recorder.stub import start; print(start._arguments())"
    command = [sys.executable, "-c", code, "/models/pipeline/1/model.py", "", "é"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)

    assert [*command, ""] == ast.literal_eval(ended.stdout)


@pytest.fixture
def verifying(environment, tmp_path, monkeypatch):
    """Let comparisons find a server with this environment."""
    python = str(environment / "bin" / "python3")
    env = TritonEnv(sys.executable, str(tmp_path), python, sys.executable, "a server")
    monkeypatch.setenv("BLSNB_TRITON", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BLSNB_HIDE_TRITON", raising=False)
    env.save()


@pytest.mark.usefixtures("verifying")
def test_the_default_is_the_server_that_comparisons_start(environment, capsys):
    """Its models run in an environment that has no name to remember."""
    assert [0, 0] == [main(["recorder", each]) for each in ("install", "status")]
    assert ["blsnb_recorder.pth", "blsnb_recorder.py"] == _files(environment)
    assert 0 == main(["recorder", "uninstall"])
    assert str(environment) in capsys.readouterr().out


@pytest.mark.usefixtures("verifying")
def test_without_a_server_the_default_is_an_error(capsys, monkeypatch):
    """It names the command that installs one."""
    monkeypatch.setenv("BLSNB_HIDE_TRITON", "1")

    assert 2 == main(["recorder", "status"])
    assert "there is no real Triton server" in capsys.readouterr().err


def test_an_interpreter_names_its_environment(command, environment):
    """As its folder does."""
    command("install", environment / "bin" / "python3")

    assert ["blsnb_recorder.pth", "blsnb_recorder.py"] == _files(environment)
    command("uninstall")


def test_status_says_that_a_file_is_of_another_release(command, environment):
    """Installing again replaces it."""
    command("install")
    module = recorder_files(environment).module
    module.write_text("")
    stale = command("status")[1]
    command("install")

    assert (
        f"The recorder in {_packages(environment)} is that of another release: install "
        "it again.\n"
    ) == stale
    assert "is installed" in command("status")[1]
    command("uninstall")


def test_one_of_the_two_files_is_no_installation_of_this_release(environment):
    """The status says so, and both are removed."""
    files = recorder_files(environment)
    files.install()
    found = [(files.exist, files.are_current)]
    for kept, lost in ((files.module, files.pth), (files.pth, files.module)):
        text = lost.read_text()
        lost.unlink()
        found.append((files.exist, files.are_current))
        lost.write_text(text)
        assert kept.exists()
    files.uninstall()
    found.append((files.exist, files.are_current))

    assert [(True, True), (True, False), (True, False), (False, False)] == found


@pytest.mark.parametrize(
    ("version", "installed"),
    [((3, 7), False), ((3, 8), True), ((3, 13), True), ((3, 14), False)],
)
def test_the_recorder_is_installed_for_the_pythons_of_the_backend(
    version, installed, tmp_path
):
    """Others are refused."""
    files = RecorderFiles(tmp_path / "a.py", tmp_path / "a.pth", version)
    refusal = contextlib.nullcontext()
    if not installed:
        number = ".".join(map(str, version))
        text = f"the environment has Python {number}; the recorder needs 3.8 to 3.13"
        refusal = pytest.raises(RecorderError, match=f"^{re.escape(text)}$")
    with refusal:
        files.install()

    assert (installed, installed) == (files.exist, files.are_current)


def test_other_programs_of_the_environment_are_not_affected(command, environment):
    """The recorder loads in the process of a model only."""
    command("install")
    done = subprocess.run(
        [environment / "bin" / "python3", "-c", "import sys; print(*sys.modules)"],
        env={"BLSNB_RECORD": "/nowhere"},
        capture_output=True,
        check=True,
        text=True,
    )
    command("uninstall")

    assert "blsnb_recorder" not in done.stdout.split()
    assert "" == done.stderr


def test_what_is_not_an_environment_is_refused(command, tmp_path):
    """The error names what was expected."""
    status, text = command("install", tmp_path)

    assert 2 == status
    assert text.endswith(
        f"{tmp_path} is not a Python environment; expected an interpreter, such as "
        "/opt/models/bin/python, or the folder of an environment\n"
    )


def test_a_program_that_is_not_python_is_refused(command):
    """It is not asked twice."""
    status, text = command("install", Path("/bin/false"))

    assert 2 == status
    assert "/bin/false does not run" in text


def test_a_fault_as_the_recorder_starts_leaves_the_import_to_others(capfd):
    """The backend's module is found without it."""
    finder = BackendFinder(RecorderSettings("folder"))

    # It is not among the finders of this process, from which it removes itself.
    assert finder.find_spec(BACKEND) is None
    assert "nothing is recorded" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "RATE",
            "2",
            "BLSNB_RECORDER_RATE='2' is not valid; expected a number from 0 to 1",
        ),
        (
            "RAET",
            "1",
            "BLSNB_RECORDER_RAET is unknown; there are BLSNB_RECORDER_RATE, "
            "BLSNB_RECORDER_ERRORS_ONLY, BLSNB_RECORDER_SLOWER_THAN_MS, "
            "BLSNB_RECORDER_MODELS, BLSNB_RECORDER_FILE_BYTES, "
            "BLSNB_RECORDER_TOTAL_BYTES, BLSNB_RECORDER_TENSOR_BYTES, "
            "BLSNB_RECORDER_REDACT_TENSORS, BLSNB_RECORDER_REDACT_PARAMETERS, "
            "BLSNB_RECORDER_REDACT_IDS, BLSNB_RECORDER_REDACT_ERRORS, "
            "BLSNB_RECORDER_TRACE",
        ),
    ],
)
def test_an_invalid_setting_is_reported_and_nothing_is_recorded(
    monkeypatch, capfd, name, value, text
):
    """The model starts without a recorder."""
    monkeypatch.setattr(sys, "builtin_module_names", (BACKEND,))
    monkeypatch.setenv("BLSNB_RECORD", "folder")
    monkeypatch.setenv(f"BLSNB_RECORDER_{name}", value)
    before = list(sys.meta_path)
    start()

    assert before == sys.meta_path
    assert f"blsnb recorder: {text}; nothing is recorded\n" == capfd.readouterr().err


@pytest.mark.parametrize(
    ("path", "instance", "model", "version"),
    [
        ("/models/sync/3/model.py", "sync_0_1", "sync", 3),
        ("/models/sync_0/3/model.py", "sync_0_0_1", "sync_0", 3),
        ("/tmp/folder0/12/model.py", "sync_1_0_11", "sync_1", 12),
        ("/tmp/folder0/12/model.py", "a_b_7", "a_b", 12),
        ("/tmp/folder0/12/model.py", "sync", "sync", 12),
        ("/models/sync/next/model.py", "synced_0_0", "synced", -1),
    ],
)
def test_a_recording_names_its_process(path, instance, model, version):
    """The instance names the model if the server copied the model's folder."""
    before_ns = time.time_ns()
    facts = process_facts(["stub", path, *"234567", instance, "last"])

    assert before_ns <= facts.pop("started_unix_ns") <= time.time_ns()
    assert {
        "model": model,
        "version": version,
        "instance": instance,
        "path": path,
        "pid": os.getpid(),
        "python": platform.python_version(),
    } == facts


@pytest.mark.parametrize(
    ("written", "recorded"),
    [
        (b"x" * (1 << 18), "x" * (1 << 18)),
        (b"x" * ((1 << 18) + 1), ""),
        ("é".encode(), "é"),
        ("é".encode("latin-1"), ""),
        (None, ""),
    ],
)
def test_a_source_is_recorded_if_it_is_small_text(written, recorded, tmp_path):
    """Another one is left out."""
    path = tmp_path / "model.py"
    if written is not None:
        path.write_bytes(written)

    assert recorded == _source(str(path))
