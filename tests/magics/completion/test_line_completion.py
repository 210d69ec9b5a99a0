"""Specification of Tab."""

import re
from types import SimpleNamespace

import pytest

from blsnb.magics.commands.subcommands import SUBCOMMANDS
from blsnb.magics.commands.usages import USAGES
from blsnb.magics.completion import line_completion

from ..models import DOUBLE


@pytest.fixture(scope="module")
def completer(shell):
    from blsnb.magics import default_server as default
    from blsnb.magics import extension

    extension.load_ipython_extension(shell)
    shell.run_cell(DOUBLE.replace("--input", "--quiet --input"))
    yield shell.Completer
    extension.unload_ipython_extension(shell)
    default.close_default()


def complete(completer, text):
    """Return the candidates at the end of a cell, and the text they replace."""
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        found = list(completer.completions(text, len(text)))
    return [(text[each.start : each.end], each.text) for each in found]


def texts(completer, text):
    return [found for _, found in complete(completer, text)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%triton mo", [("mo", "models"), ("mo", "monitor")]),
        ("%triton infer d", [("d", "double")]),
        ("%triton infer double ", [("", "X="), ("", "--profile")]),
        ("%triton infer double X=a --pr", [("--pr", "--profile")]),
        ("%triton remove d", [("d", "double")]),
        ("%triton graph --as ", [("", "ensemble")]),
        ("%triton graph --as ensemble d", [("d", "double")]),
        ("%triton verify double --target l", [("l", "local")]),
        ("%triton tutorial --f", [("--f", "--force")]),
        ("%%triton_model double --version ", [("", "1")]),
        ("%%triton_model m --dynamic-batching --q", [("--q", "--quiet")]),
        ("%%triton_file double/", [("double/", "double/1/")]),
        ("%triton stats d", [("d", "double")]),
        ("%triton stats double --j", [("--j", "--json")]),
        ("%triton stats double --b", [("--b", "--batching")]),
        ("%triton bench d", [("d", "double")]),
        ("%triton bench double X", [("X", "X=")]),
        ("%triton evaluate d", [("d", "double")]),
        ("%triton evaluate double rows --met", [("--met", "--metrics")]),
        ("%triton evaluate double rows --r", [("--r", "--resume")]),
        ("%triton bench double X=a --c", [("--c", "--concurrency")]),
        ("%triton bench double --trace-level ti", [("ti", "timestamps")]),
        (
            "%triton serve --h",
            [
                ("--h", "--help"),
                ("--h", "--host"),
                ("--h", "--http"),
                ("--h", "--http-max-input-size"),
                ("--h", "--http-restricted-api"),
            ],
        ),
        ("%triton serve --stop --me", [("--me", "--metrics")]),
        ("%triton verify d", [("d", "double")]),
        ("%triton verify double --t", [("--t", "--target"), ("--t", "--timeout")]),
        ("%triton verify double --install --target l", [("l", "local")]),
        ("%triton help un", [("un", "unload")]),
        ("%triton load double --w", [("--w", "--watch")]),
        ("%triton config double --f", [("--f", "--from-run")]),
        ("%triton export out d", [("d", "double")]),
        ("%triton export out double --f", [("--f", "--force")]),
        ("%triton trace --o", [("--o", "--output")]),
        ("%triton trace x --format p", [("p", "perfetto")]),
        ("%triton runtime nu", [("nu", "numpy")]),
        ("%triton standin d", [("d", "double")]),
        ("%triton standin double --z", [("--z", "--zeros")]),
        ("%%triton_model dou", [("dou", "double")]),
        ("%%triton_model m --ma", [("--ma", "--max-batch-size")]),
        ("%triton_model m --dec", [("--dec", "--decoupled")]),
        ("%%triton_model m --kind g", [("g", "gpu")]),
        ("%%triton_model m --input X:FP3", [("FP3", "FP32[")]),
        ("%%triton_config d", [("d", "double")]),
        ("%%triton_file d", [("d", "double")]),
    ],
)
def test_valid_candidates_are_offered(completer, line, expected):
    """Nothing else is offered."""
    assert expected == complete(completer, line)


def test_all_subcommands_are_offered(completer):
    """They are offered before anything is typed."""
    from blsnb.magics.commands.subcommands import SUBCOMMANDS

    assert sorted(SUBCOMMANDS) == sorted(texts(completer, "%triton "))


def test_help_is_about_one_subcommand(completer):
    """No second one is offered."""
    assert "unload" not in texts(completer, "%triton help load un")


def parsers():
    """Yield each subcommand that has options."""
    for name, subcommand in SUBCOMMANDS.items():
        options = set(re.findall(r"--[a-z0-9-]+", USAGES[name]))
        if subcommand.flags:
            options.update(subcommand.flags().option_strings())
        if options:
            yield name, options


@pytest.mark.parametrize(("name", "options"), [*parsers()])
def test_every_option_of_a_subcommand_is_offered(completer, name, options):
    """Those of its parser and those of its usage."""
    assert options == set(texts(completer, f"%triton {name} double --"))


def test_the_first_line_of_a_larger_cell_is_completed(completer):
    """The cursor's line is completed, not the last line."""
    cell = "%%triton_model m --qui\nimport os\n"
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        found = [each.text for each in completer.completions(cell, 22)]
    assert ["--quiet"] == found


@pytest.mark.parametrize("line", ["import o", "%timeit x", "x = '%triton mo"])
def test_other_lines_are_ignored(completer, line):
    """Nothing is offered there."""
    assert "models" not in texts(completer, line)


def test_types_are_offered_after_a_colon_only(completer):
    """The name of a tensor is free."""
    assert not any(
        "FP32[" in text for text in texts(completer, "%%triton_model m --input F")
    )


def test_an_unknown_model_has_no_input_candidates(completer):
    """Completion raises no error."""
    assert "X=" not in texts(completer, "%triton infer nowhere ")


def test_kept_runs_are_offered_where_a_trace_is_named(
    completer, shell, here, monkeypatch
):
    """Files are offered, too; without a server there is no run, and none is made."""
    from blsnb.magics import default_server as default

    shell.run_cell("import blsnb; blsnb.infer('double', {'X': [[1.0, 2.0]]})")
    runs = [run.id for run in default.started().runs]
    offered = texts(completer, "%triton trace ")
    monkeypatch.setattr(default, "started", lambda: None)

    assert runs
    files = ["models/", "more/", "moved.json", "with blank/"]
    assert {*runs, *files} >= set(offered) > set(runs)
    assert sorted({*offered} - {*runs}) == sorted(texts(completer, "%triton trace "))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a repository of models and files."""
    for name in ("models/a/1", "models/b/1", "more", ".hidden", "with blank"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("moved.json", ".secret"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "more"))
    (tmp_path / "more" / "kept").mkdir()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%triton import mo", ["models/", "more/"]),
        ("%triton import ./mod", ["./models/"]),
        ("%triton import models/", ["models/a/", "models/b/"]),
        ("%triton import models ", ["--no-watch", "a", "b"]),
        ("%triton import ~", ["~/"]),
        ("%triton import ~/k", ["~/kept/"]),
        ("%triton export .h", [".hidden/"]),
        ("%triton export mo", ["models/", "more/"]),
        ("%triton tutorial mo", ["models/", "more/"]),
        ("%triton serve --unix-sockets mo", ["models/", "more/"]),
        ("%triton trace mo", ["models/", "more/", "moved.json"]),
        ("%triton trace --output mov", ["moved.json"]),
        ("%triton watch mov", ["moved.json"]),
        ("%triton verify double --cases mov", ["moved.json"]),
        ("%triton evaluate double rows --resume mov", ["moved.json"]),
        ("%%triton_model m --file mov", ["moved.json"]),
        ("%%triton_model m --config mov", ["moved.json"]),
    ],
)
def test_paths_are_completed(completer, here, line, expected):
    """Only folders are offered for folders; models follow their repository."""
    found = line_completion.completions(SimpleNamespace(text_until_cursor=line))

    assert expected == sorted(texts(completer, line))
    # IPython adds files of its own where nothing is offered.
    assert expected == sorted(each.text for each in found["completions"])


def test_the_first_500_paths_are_offered(here, tmp_path):
    """A folder of a data set may have many more."""
    for number in range(501):
        (tmp_path / "models" / f"{number:03}").touch()

    found = line_completion.paths("models/")

    assert [f"models/{number:03}" for number in range(500)] == found
