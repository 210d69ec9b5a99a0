"""Specification of %triton trace."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from asserting import every

import blsnb
from blsnb import TraceFileError
from blsnb.magics import default_server as default
from blsnb.magics.commands import trace_files, traces
from blsnb.parts.server_parts import parts_of
from blsnb.trace.files.export import FORMATS

from ..models import DOUBLE

RECORDED = Path(__file__).parents[2] / "trace" / "golden"
EXAMPLE = RECORDED / "bls_trace_example.json"


@pytest.fixture
def used(notebook):
    """A notebook in which a model has responded."""
    notebook.run(DOUBLE)
    notebook.run("import blsnb")
    notebook.run("run = blsnb.infer('double', {'X': [2.0]}, request_id='mine')")
    return notebook


def test_recorded_runs_are_a_table(used):
    """Each run has a name with which it can be shown."""
    [shown] = used.run("%triton trace").outputs
    head, row = shown["text/plain"].splitlines()
    [ran] = used.run(f"%triton trace {row.split()[0]}").texts

    columns = "run at ms cell model request calls errors size pinned"
    assert columns.split() == head.split()
    name, at, ms, *rest = row.split()
    run = used.shell.user_ns["run"]
    assert (run.id, f"{run.started_at:%H:%M:%S}") == (name, at)
    assert f"{run.duration_ms:,.3f}" == ms
    assert [used.cell(ago=2), "double", "mine", "1", "0", "8", "B"] == rest
    assert ran.startswith("double · request mine: ")


def test_without_runs_a_message_is_printed(notebook):
    """An empty table would be unclear."""
    assert "No run has been recorded.\n" == notebook.run("%triton trace").stdout


def test_a_variable_is_shown(used):
    """The run of a variable is displayed like the value of a cell."""
    ran = used.run("%triton trace run")

    assert ran.value is used.shell.user_ns["run"]
    assert "text/html" in ran.outputs[0]


def test_a_file_of_a_server_is_shown_and_is_a_run(notebook):
    """It has the same view, with the name of the file."""
    ran = notebook.run(f"imported = %triton trace {EXAMPLE}\nimported")

    assert "Read from bls_trace_example.json" in ran.texts[0]
    assert [2.0, 3.0, 4.0] == ran.value["Y"].tolist()


def test_a_saved_run_is_shown_and_is_a_run(used, tmp_path):
    """A saved run is displayed and returned like that of a trace file."""
    path = tmp_path / "kept.blsrun"
    used.run(f"run.save({str(path)!r})")
    ran = used.run(f"kept = %triton trace {path}\nkept")

    assert ran.texts[0].startswith("double · request mine: ")
    assert [4.0] == ran.value["Y"].tolist()


def test_several_requests_of_a_file_are_folded_to_their_titles(notebook):
    """The first ones are shown, with the number of the others."""
    ran = notebook.run(f"%triton trace {RECORDED / 'triton_2.51.0.json'}")

    assert 12 == len(ran.outputs)
    assert every("<details><summary>" in each["text/html"] for each in ran.outputs)
    assert "… 6 more; blsnb.load_trace() returns them all.\n" == ran.stdout


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (1_234_567, "1.23 MB"),
        (1e9, "1 GB"),
        (2.5e12, "2.5e+03 GB"),
    ],
)
def test_a_size_has_three_digits_and_its_unit(count, text):
    """Units are powers of a thousand."""
    assert text == traces._size(count)


@pytest.mark.parametrize("runs", ["run", "[run, run]"])
def test_a_run_is_written_for_triton(used, tmp_path, runs):
    """The written file can be read again."""
    used.run(f"runs = {runs}")
    ran = used.run(f"%triton trace runs --output {tmp_path / 'a b.json'}")
    assert "UsageError" in ran.stderr
    ran = used.run(f"%triton trace runs --output '{tmp_path / 'a b.json'}'")

    assert "blsnb.load_trace() reads it." in ran.stdout
    found = blsnb.load_trace(tmp_path / "a b.json")
    assert ["mine"] * (1 + runs.count(",")) == [r.trace.request_id for r in found]


def test_a_run_is_written_for_perfetto(used, tmp_path):
    """The output names the program that opens the file."""
    file = tmp_path / "run.json"
    ran = used.run(f"%triton trace run --format perfetto --output {file}")

    assert "https://ui.perfetto.dev opens it." in ran.stdout
    assert "traceEvents" in json.loads(file.read_text())


def test_a_run_is_written_as_a_page_and_as_a_picture(used, tmp_path):
    """Several files can be written at once."""
    page, picture = tmp_path / "run.html", tmp_path / "run.svg"
    events = tmp_path / "run.json"
    ran = used.run(
        f"%triton trace run --html {page} --svg {picture} --perfetto {events}"
    )

    assert 2 == ran.stdout.count("a browser opens it.")
    assert "<title>double" in page.read_text(encoding="utf-8")
    assert ET.parse(picture).getroot().tag.endswith("}svg")
    assert "traceEvents" in json.loads(events.read_text())


def test_a_run_is_written_to_the_home_folder(used, tmp_path, monkeypatch):
    """A notebook has no shell that expands ~."""
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = used.run("%triton trace run --output ~/triton.json --html ~/run.html")

    assert "" == ran.stderr
    assert 2 == ran.stdout.count(" bytes; ")
    assert {"run.html", "triton.json"} == {each.name for each in tmp_path.iterdir()}


def test_one_run_of_several_is_chosen(notebook, tmp_path):
    """A page shows one run; the error names the possible numbers."""
    file, page = RECORDED / "triton_2.51.0.json", tmp_path / "run.html"
    ran = notebook.run(f"run = %triton trace {file} --run 2\nrun")
    second = blsnb.load_trace(file)[1]

    assert repr(second) == repr(ran.value)
    ran = notebook.run(f"%triton trace {file} --html {page}")
    assert "can show one run, and there are 18: choose one with --run N" in ran.stderr
    assert not page.exists()
    ran = notebook.run(f"%triton trace {file} --run 19")
    assert "--run 19: there is no such run, of 18 runs" in ran.stderr
    notebook.run(f"%triton trace {file} --run 2 --html {page}")
    assert page.exists()


def test_the_formats_are_those_that_can_be_written():
    """The parser's formats equal those of the writer, which it does not import."""
    assert trace_files.FORMATS == tuple(FORMATS)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "nowhere",
            "'nowhere' is not a variable that holds a run, a run of the list that "
            "%triton trace shows, or a file that can be read: No such file or "
            "directory",
        ),
        ("--output x.json", "which run? Name one before --output"),
        ("--run 2", "which run? Name one before --run"),
        ("--svg x.svg", "which run? Name one before --svg"),
        ("--html x.html", "which run? Name one before --html"),
        ("--perfetto x.json", "which run? Name one before --perfetto"),
        ("a b", "unrecognized arguments: b"),
        ("a --format xml", "invalid choice: 'xml'"),
        ("run --output /nowhere/x.json", "/nowhere/x.json cannot be written"),
        ("run --html /nowhere/x.html", "/nowhere/x.html cannot be written"),
    ],
)
def test_errors_are_one_line(used, line, said):
    """Errors have no traceback."""
    assert said in used.run(f"%triton trace {line}").stderr


def test_a_run_that_is_no_longer_kept_is_reported_with_its_limit(used):
    """Its name is not reported as unknown."""
    server = default.server()
    parts_of(server).recorder.keep_runs = 1
    first = server.runs[0].id
    for _ in range(2):
        used.run("blsnb.infer('double', {'X': [2.0]})")
    said = used.run(f"%triton trace {first}").stderr

    assert f"run {first} is no longer kept: keep_runs=1 limits" in said
    assert "run.keep() pins" in said


def test_a_file_that_is_not_a_trace_is_an_error(notebook, tmp_path):
    """The error names the file."""
    (tmp_path / "x.json").write_text("{}")
    ran = notebook.run(f"%triton trace {tmp_path / 'x.json'}")

    assert isinstance(ran.error, TraceFileError)


def test_the_help_is_that_of_the_parser(notebook):
    """--help may follow other words."""
    assert "--format {triton,perfetto}" in notebook.run("%triton trace x --help").stdout
    assert "%triton trace" in notebook.run("%triton trace --help").stdout
    assert default.started() is None


def test_a_pinned_run_is_marked(used):
    """It is kept when others are dropped."""
    used.run("kept = run.keep()")
    [shown] = used.run("%triton trace").outputs

    assert shown["text/plain"].endswith("pinned")


def test_each_row_opens_its_view(used, monkeypatch):
    """In a page the rows are a widget; an opened row makes its view and connects it."""
    used.run("run.keep()")
    used.run("blsnb.infer('double', {'Z': [2.0]})")
    monkeypatch.setattr(used.shell, "kernel", object(), raising=False)
    connected = []
    monkeypatch.setattr(traces, "note_run", connected.append)
    seen = []
    monkeypatch.setattr(traces, "display", lambda shown, **_: seen.append(shown))
    used.run("%triton trace")
    [rows] = seen
    run, failed = default.server().runs
    times = [
        f"{each.id} · {each.started_at:%H:%M:%S} · {each.duration_ms:,.3f} ms"
        for each in (run, failed)
    ]
    assert [
        f"{times[1]} · {used.cell(ago=1)} · double · 1 call · 1 error · 8 B",
        f"{times[0]} · {used.cell(ago=3)} · double · mine · 1 call · 8 B · pinned",
    ] == [*rows.titles]
    assert rows.selected_index is None

    rows.selected_index = 1
    rows.selected_index = None
    rows.selected_index = 1

    assert [True] == ["text/html" in each for each in seen[1:]]
    assert [run] == connected
