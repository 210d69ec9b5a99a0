"""Specification of ``blsnb recorder``: its files in an environment."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from blsnb.command.program import main
from blsnb.parity.triton.environment import TritonEnv
from blsnb.recorder.installation import recorder_files
from blsnb.recorder.stub.settings import RecorderSettings
from blsnb.recorder.stub.start import BackendFinder, start

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


def test_install_status_and_uninstall(command, environment):
    """Two files come and go; both actions may be repeated."""
    before = command("status")
    installed = [command("install"), command("install")]
    there, files = command("status"), _files(environment)
    removed = [command("uninstall"), command("uninstall")]

    assert (0, True) == (before[0], "is not installed" in before[1])
    assert [0, 0, 0, 0] == [status for status, _ in installed + removed]
    assert "The recorder is installed in" in there[1]
    assert ["blsnb_recorder.pth", "blsnb_recorder.py"] == files
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

    assert "install it again" in stale
    assert "is installed" in command("status")[1]
    command("uninstall")


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
    assert "is not a Python environment; expected an interpreter" in text


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
        ("RATE", "2", "BLSNB_RECORDER_RATE='2' is not valid; expected a number from 0"),
        ("RAET", "1", "BLSNB_RECORDER_RAET is unknown; there are BLSNB_RECORDER_RATE,"),
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
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith(f"blsnb recorder: {text}")
    assert line.endswith("; nothing is recorded")
