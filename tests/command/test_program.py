"""The command as a whole: its subcommands, its help, how it ends."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from blsnb import command
from blsnb.command import program
from blsnb.command.program import subcommands

HELP = Path(__file__).with_name("help.txt")
HEAVY = ("IPython", "anywidget", "grpc", "ipywidgets", "matplotlib", "traitlets")


def test_the_script_is_the_command():
    """It is installed with the package, and ``python -m blsnb`` is the same."""
    [script] = metadata.entry_points(group="console_scripts", name="blsnb")

    assert program.main is script.load()


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_subcommand(words, blsnb):
    """Each has a summary, and the exit status is explained."""
    ended = blsnb(*words)

    assert 0 == ended.status
    folder = Path(command.__file__).parent
    modules = [each for each in folder.glob("*.py") if "\ndef run(" in each.read_text()]
    assert sorted(each.stem for each in modules) == subcommands()
    assert "Exit status: 0 " in ended.stdout


@pytest.mark.parametrize("name", subcommands())
def test_every_subcommand_has_help(name, blsnb):
    """The option and the word `help` print it; usages agree with the list."""
    ended = blsnb(name, "--help")

    assert (0, "") == (ended.status, ended.stderr)
    assert ended.stdout.startswith(f"usage: blsnb {name} ")
    assert ended == blsnb("help", name)


def test_the_help_is_the_reviewed_text(blsnb, monkeypatch):
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew, and its diff is reviewed."""
    monkeypatch.setenv("COLUMNS", "80")
    commands = [["--help"], *([name, "--help"] for name in subcommands())]
    text = "\n".join(blsnb(*words).stdout for words in commands)
    if os.environ.get("BLSNB_WRITE_GOLDEN"):
        HELP.write_text(text, encoding="utf-8")

    # Versions of Python break the usage in different places.
    assert HELP.read_text(encoding="utf-8").split() == text.split()


def test_the_version_is_the_packages(blsnb):
    """It is the version that pip reports."""
    assert (0, f"blsnb {metadata.version('blsnb')}\n", "") == blsnb("--version")


@pytest.mark.parametrize("words", [["nothing"], ["help", "nothing"], ["--nothing"]])
def test_an_unknown_subcommand_is_an_error(words, blsnb):
    """One line on stderr lists the subcommands."""
    ended = blsnb(*words)

    assert (2, "") == (ended.status, ended.stdout)
    known = ", ".join(subcommands())
    assert (
        f"blsnb {words[-1]}: there is no such subcommand; there are {known}\n"
    ) == ended.stderr


def test_what_a_subcommand_does_not_need_is_not_imported():
    """Help is printed fast."""
    script = "import sys, blsnb.command; blsnb.command.main(['--help']); "
    command = [sys.executable, "-c", f"{script} print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert not {*HEAVY, "numpy"} & {*done.stdout.split()}


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (SystemExit("no licence"), 1, "no licence\n"),
        (SystemExit(None), 0, ""),
        (SystemExit(3), 3, ""),
    ],
)
def test_whatever_ends_a_subcommand_has_a_status(
    raised, status, said, monkeypatch, blsnb
):
    """The status is the shell's, and there is no traceback."""

    def fail(name, words):
        raise raised

    monkeypatch.setattr(program, "_run", fail)
    ended = blsnb("trace")

    assert (status, "") == (ended.status, ended.stdout)
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_failure_of_blsnb_is_not_that_of_a_test(monkeypatch, blsnb):
    """Status 1 would say that a test failed or a response differs."""

    def fail(name, words):
        raise ZeroDivisionError("of blsnb")

    monkeypatch.setattr(program, "_run", fail)
    ended = blsnb("trace")

    assert (2, "") == (ended.status, ended.stdout)
    assert ended.stderr.endswith("ZeroDivisionError: of blsnb\n")


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path):
    """``blsnb trace FILE | head -1`` is an example."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "blsnb", "--help"]
    with os.fdopen(write, "w") as pipe:
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )

    assert (128 + signal.SIGPIPE, "") == (done.returncode, done.stderr)


def test_what_the_encoding_of_stdout_lacks_is_escaped():
    """A job may run in a locale without box characters."""
    script = "from blsnb.command import program; program._run = print; program.main()"
    command = [sys.executable, "-c", script, "20 µs", "└─"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, env=environment)

    assert (0, b"") == (done.returncode, done.stderr)
    assert b"20 \xb5s ['\\u2514\\u2500']\n" == done.stdout


@pytest.mark.parametrize("words", ["--help", "trace missing.json"])
def test_a_command_without_streams_has_its_status(words, tmp_path):
    """A service may start it with all of them closed."""
    command = f"{shlex.quote(sys.executable)} -m blsnb {words} <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path)

    assert (0 if words == "--help" else 2) == done.returncode
