"""``blsnb verify``: a repository's model here and on a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asserting import some
from cells import CONFIG, DOUBLE, TRIPLE, calling, cell
from conformance.reference import real_environment

from blsnb.magics.commands.verify import verify_flags
from blsnb.serving import serve


def write_models(folder: Path, **sources: str) -> Path:
    """Write models into a repository."""
    for name, source in sources.items():
        (folder / name / "1").mkdir(parents=True)
        text = source.replace("import stage\n", "")
        (folder / name / "1" / "model.py").write_text(text)
        (folder / name / "config.pbtxt").write_text(CONFIG)
    return folder


@pytest.fixture
def models(tmp_path):
    """Return a repository whose outer model calls an inner one."""
    return write_models(tmp_path / "models", inner=DOUBLE, outer=calling("inner"))


@pytest.fixture
def target(server, models):
    """The address of another server with the models, which is blsnb's."""
    server.import_repository(models)
    with serve(server, http=None, grpc=0, metrics=None) as endpoints:
        yield f"grpc://{endpoints.addresses['gRPC']}"


@pytest.fixture
def real():
    """Skip where no real server can run."""
    real_environment()


def test_equal_responses_are_a_success(models, target, blsnb):
    """The comparison is on stdout, the progress on stderr."""
    options = ["--target", target, "--triton-release", "24.10"]
    ended = blsnb("verify", models, "outer", "X=[1, 2]", *options)

    assert 0 == ended.status
    assert ended.stdout.startswith("outer on blsnb and Triton ")
    assert "1 case, no difference" in ended.stdout.splitlines()[0]
    assert "100% done\n" in ended.stderr


def test_different_responses_are_status_one(models, target, server, tmp_path, blsnb):
    """The largest deviation is named; a page and a tolerance can be requested."""
    server.define("inner", TRIPLE, config=CONFIG)
    page = tmp_path / "page.html"
    words = [models, "outer", "X=np.float32([1, 2])", "--target", target]
    ended = blsnb("verify", *words, "--html", page)

    assert 1 == ended.status
    assert "1 of 1 case differs" in ended.stdout
    assert "most by 2 at [1]" in ended.stdout
    assert "outer" in page.read_text(encoding="utf-8")
    assert ended.stdout.endswith(
        f"{page.stat().st_size:,} bytes; a browser opens it.\n"
    )
    assert 0 == blsnb("verify", *words, "--atol", "2").status


def test_a_page_may_be_in_the_home_folder(models, target, tmp_path, blsnb, monkeypatch):
    """Shells do not expand ~ after an equals sign."""
    monkeypatch.setenv("HOME", str(tmp_path))
    words = [models, "outer", "X=np.float32([1, 2])", "--target", target]
    ended = blsnb("verify", *words, "--html=~/page.html")

    assert 0 == ended.status
    assert f"{tmp_path / 'page.html'}: " in ended.stdout


def test_options_may_stand_anywhere_and_requests_in_a_file(
    models, target, blsnb, tmp_path
):
    """With a file and no input there is no other request."""
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([{"inputs": {"X": [1]}}, {"inputs": {"X": [1, 2]}}]))
    options = ["--cases", cases, "--target", target]
    assert "2 cases, " in blsnb("verify", *options, models, "outer").stdout
    assert "3 cases, " in blsnb("verify", models, *options, "outer", "X=[3]").stdout


@pytest.mark.triton_server
@pytest.mark.usefixtures("real")
def test_a_real_server_is_started_with_the_models(tmp_path, blsnb):
    """It is stopped, and differences are found."""
    where = cell("import sys\nreturn [reply(x_of(request) + ('blsnb' in sys.modules))]")
    models = write_models(tmp_path / "models", where=where)
    ended = blsnb("verify", models, "where", "X=[1]", "--triton-release", "24.10")

    assert 1 == ended.status
    assert ended.stdout.startswith(
        "where on blsnb and Triton 2.51.0: 1 of 1 case differs\n"
    )
    assert "stop the real server" in ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required: REPOSITORY, NAME"),
        (["nowhere", "m", "X=1"], "'nowhere' is not a folder of models"),
        (["models", "m", "X=1"], "there is no model 'm'; there are: inner, outer"),
        (["models", "outer", "X"], "expected INPUT=expression, not 'X'"),
        (["models", "outer", "X=[1"], "X=[1: SyntaxError: '[' was never closed"),
        (["models", "outer", "X=1/0"], "X=1/0: ZeroDivisionError: division by zero"),
        (["models", "outer", "X=exit(0)"], "X=exit(0): SystemExit: 0"),
        (["models", "outer", "X=[1]", "--html", "x.txt"], "'x.txt' is no .html file"),
        (["models", "outer", "--cases", "lost.json"], "lost.npy: No such file or dire"),
        (["models", "outer", "X=[1]", "--target", "x"], "target='x' is not valid"),
        (["models", "outer", "--cases", "no.json"], "no.json: No such file or direct"),
        (["models", "outer", "X=[1]", "--triton-release", "1"], "'1'"),
        (
            ["models", "outer", "X=[1]", "--target", "grpc://127.0.0.1:1"],
            "does not resp",
        ),
    ],
)
def test_errors_are_one_line(words, said, blsnb, models, monkeypatch):
    """The texts are those of the magic, without a comparison."""
    monkeypatch.chdir(models.parent)
    (models.parent / "lost.json").write_text('[{"inputs": {"X": {"npy": "lost.npy"}}}]')
    ended = blsnb("verify", *words)

    assert (2, "") == (ended.status, ended.stdout)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("blsnb verify: ")
    assert said in last


def test_a_model_that_does_not_load_is_reported(models, blsnb):
    """The text is Triton's; other models may fail to load."""
    write_models(models, bad="1/0")
    ended = blsnb("verify", models, "bad", "X=[1]")

    assert (2, "") == (ended.status, ended.stdout)
    assert "blsnb verify: load failed for model 'bad'" in ended.stderr
    assert "ZeroDivisionError" in ended.stderr


def test_its_options_are_those_of_the_magic(blsnb):
    """The options of the magic and the command are equal."""
    said = blsnb("verify", "--help").stdout

    assert [] == [
        name for name in some(verify_flags().option_strings()) if name not in said
    ]
