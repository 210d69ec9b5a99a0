"""``blsnb trace``: runs and traces of files, in a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from cells import CONFIG, DOUBLE, calling

from blsnb import load_trace
from blsnb.command import trace
from blsnb.magics.commands.traces import trace_flags

RECORDED = Path(__file__).parents[1] / "trace" / "golden"
EXAMPLE = RECORDED / "bls_trace_example.json"
SEVERAL = RECORDED / "triton_2.51.0.json"


@pytest.fixture
def saved(server, tmp_path):
    """Return a run on disk."""
    server.define("inner", DOUBLE, config=CONFIG)
    server.define("outer", calling("inner"), config=CONFIG)
    return server.infer("outer", {"X": [1, 2]}).save(tmp_path / "run.blsrun")


def test_a_saved_run_is_a_tree(saved, blsnb):
    """It has a line for each model."""
    ended = blsnb("trace", saved)

    assert (0, "") == (ended.status, ended.stderr)
    title, outer, inner, _ = ended.stdout.splitlines()
    assert title.startswith("outer: ")
    assert title.endswith(" wall, 2 calls, 2 models")
    assert outer.startswith("  outer  ")
    assert inner.startswith("    inner  ")


def test_neither_ipython_nor_a_notebook_is_needed(saved):
    """A terminal on a server may have neither."""
    script = (
        "import sys; sys.modules.update(IPython=None, anywidget=None); "
        "from blsnb.command import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-W", "error", "-c", script, "trace", str(saved)]
    done = subprocess.run(command, capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("outer: ")


def test_a_trace_of_a_real_server_is_a_tree(blsnb):
    """It names the file."""
    ended = blsnb("trace", EXAMPLE)

    assert 0 == ended.status
    assert "Read from bls_trace_example.json" in ended.stdout


def test_several_requests_of_a_file_are_shown_or_one_of_them(blsnb):
    """The first ones are shown, with the number of the others."""
    titles = [repr(run) for run in load_trace(SEVERAL)]
    ended = blsnb("trace", SEVERAL)
    one = blsnb("trace", SEVERAL, "--run", "2")

    assert ended.stdout.endswith(
        f"… {len(titles) - 12} more; --run N shows the N-th.\n"
    )
    assert 12 == ended.stdout.count(" wall, ")
    assert one.stdout in ended.stdout
    assert 1 == one.stdout.count(" wall, ")


def test_a_run_is_written_instead(saved, tmp_path, blsnb):
    """Pages, pictures, Perfetto's and Triton's formats can be written."""
    page, picture = tmp_path / "run.html", tmp_path / "run.svg"
    events, triton = tmp_path / "events.json", tmp_path / "triton.json"
    options = ["--html", page, "--svg", picture, "--perfetto", events]
    ended = blsnb("trace", saved, *options, "--output", triton)

    assert (0, "", 4) == (ended.status, ended.stderr, ended.stdout.count("\n"))
    assert "<title>outer" in page.read_text(encoding="utf-8")
    assert ET.parse(picture).getroot().tag.endswith("}svg")
    assert "traceEvents" in json.loads(events.read_text())
    assert 1 == len(load_trace(triton))


@pytest.mark.parametrize("option", ["--html", "--svg", "--perfetto", "--output"])
def test_the_file_that_is_read_is_not_overwritten(saved, option, blsnb):
    """The recorded run would be lost, also by another name of its file."""
    before = saved.read_bytes()
    ended = blsnb("trace", saved, option, saved.parent / "." / saved.name)

    assert (2, "") == (ended.status, ended.stdout)
    assert "run.blsrun is the file that is read; expected another" in ended.stderr
    assert before == saved.read_bytes()


@pytest.mark.parametrize("option", ["--html", "--svg", "--perfetto", "--output"])
def test_a_run_is_written_to_a_pipe(saved, option, process):
    """Nothing else is in what the next command reads, and the pipe stays one."""
    whole, stdout = saved.with_suffix(".whole"), saved.with_suffix(".stdout")
    # What /dev/stdout is.
    stdout.symlink_to("/proc/self/fd/1")
    process("trace", saved, option, whole)
    ended = process("trace", saved, option, stdout)

    assert (0, "") == (ended.status, ended.stderr)
    assert whole.read_text(encoding="utf-8") == ended.stdout
    assert stdout.is_symlink()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required: FILE (see blsnb trace --help)"),
        (["no.json"], "'no.json' cannot be read: No such file or direc"),
        (["no.blsrun"], "'no.blsrun' cannot be read: No such file or "),
        (["/"], "'/' cannot be read: Is a directory"),
        ([__file__], f"{Path(__file__).name} is not a trace file of a Triton server"),
        ([SEVERAL, "--run", "19"], "--run 19: there is no such run, of 18 runs"),
        ([SEVERAL, "--svg", "x.svg"], "x.svg can show one run, and there are 18: "),
        ([EXAMPLE, "--svg", "/no/x.svg"], "/no/x.svg cannot be written: "),
        ([EXAMPLE, "--svgs", "x"], "unrecognized arguments: --svgs x (see blsnb"),
        *(
            (
                [EXAMPLE, "--read-limit-bytes", bad],
                f"argument --read-limit-bytes: '{bad}' is not a number of bytes (see",
            )
            for bad in ("x", "-5")
        ),
        ([EXAMPLE, "--format", "xml"], "argument --format: invalid choice: 'xml'"),
    ],
)
def test_errors_are_one_line(words, said, blsnb):
    """They are on stderr, and nothing is written."""
    ended = blsnb("trace", *words)

    assert (2, "") == (ended.status, ended.stdout)
    assert ended.stderr.startswith(f"blsnb trace: {said}") or (
        said in ended.stderr and ended.stderr.startswith("blsnb trace: ")
    )
    assert 1 == ended.stderr.count("\n")


def test_its_options_are_those_of_the_magic():
    """Memory limits are an exception: notebooks set them as `options`."""
    ours = {*trace.flags()._option_string_actions} - {"-h", "--read-limit-bytes"}

    assert {*trace_flags().option_strings()} == ours
