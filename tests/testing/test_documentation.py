"""What docs/howto/testing.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cells import CONFIG, DOUBLE, cell

from blsnb.command.program import subcommands
from blsnb.testing.tested_server import TestedServer

from .conftest import write_repository

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "testing.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language: str, text: str = TEXT) -> list[str]:
    """Return what a page has in a language."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_tests_of_the_page_pass_and_fail_as_documented(pytester, models, run_tests):
    """Repository and messages are those of the page."""
    with TestedServer(model_repository=models, startup_models="*") as server:
        server.infer("outer", {"X": [1, 2]}).save(pytester.path / "good.blsrun")
    body = "\n\n".join(blocks("python"))
    run_tests(body, "--triton-repository=models").assert_outcomes(passed=4)

    added = "added = np.array([0, 0.5], np.float32)\n"
    changed = cell(f"{added}return [reply(x_of(request) * 2 + added)]")
    (models / "inner" / "1" / "model.py").write_text(changed)
    replayed, _ = blocks("text")
    assert replayed.split() == errors_of(run_tests, body, "as_it_was")


def test_the_test_of_the_page_on_ci_passes(pytester, run_tests):
    """Its model doubles."""
    write_repository(pytester.path / "models", double=DOUBLE)
    page = PAGE.with_name("ci.md").read_text(encoding="utf-8")
    [body] = blocks("python", page)

    run_tests(body, "--triton-repository=models").assert_outcomes(passed=1)


def test_a_failed_evaluation_is_reported_as_documented(models, run_tests):
    """The limit of the page's test is higher."""
    _, evaluated = blocks("text")
    body = "\n\n".join(blocks("python")).replace('{"right": 0.6}', '{"right": 0.9}')

    assert evaluated.split() == errors_of(run_tests, body, "are_right")


def errors_of(run_tests, body, name):
    """Return the words of the error of one test, without its class."""
    result = run_tests(body, "--triton-repository=models", "-k", name)
    lines = [line[2:].strip() for line in result.outlines if line.startswith("E  ")]
    return re.sub(r"^blsnb\.testing\.\w+\.\w+Error: ", "", "\n".join(lines)).split()


def test_a_model_is_defined_as_documented(run_tests):
    """The test runs separately."""
    assert "triton_server.define(" in TEXT
    body = f"""
    def test_it(triton_server):
        triton_server.define("double", SOURCE, config={CONFIG!r})

    from cells import DOUBLE as SOURCE
    """
    run_tests(body).assert_outcomes(passed=1)


@pytest.mark.parametrize("name", subcommands())
def test_every_subcommand_is_on_the_page(name):
    """Its arguments are listed."""
    assert f"| `blsnb {name} " in TEXT
