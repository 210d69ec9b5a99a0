"""What docs/testing.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cells import CONFIG, cell

from blsnb.command.program import SUBCOMMANDS
from blsnb.testing.tested_server import TestedServer

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return what the page has in a language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_tests_of_the_page_pass_and_fail_as_documented(pytester, models, run_tests):
    """Repository and messages are those of the page."""
    with TestedServer(model_repository=models, startup_models="*") as server:
        server.infer("outer", {"X": [1, 2]}).save(pytester.path / "good.blsrun")
    body = "\n\n".join(blocks("python"))
    run_tests(body, "--triton-repository=models").assert_outcomes(passed=3)

    added = "added = np.array([0, 0.5], np.float32)\n"
    changed = cell(f"{added}return [reply(x_of(request) * 2 + added)]")
    (models / "inner" / "1" / "model.py").write_text(changed)
    result = run_tests(body, "--triton-repository=models", "-k", "as_it_was")
    [said] = blocks("text")
    errors = [line[2:].strip() for line in result.outlines if line.startswith("E  ")]
    assert [line.strip() for line in said.splitlines()] == [
        line.removeprefix("blsnb.testing.replays.ReplayError: ") for line in errors
    ]


def test_a_model_is_defined_as_documented(run_tests):
    """The test runs separately."""
    assert "triton_server.define(" in TEXT
    body = f"""
    def test_it(triton_server):
        triton_server.define("double", SOURCE, config={CONFIG!r})

    from cells import DOUBLE as SOURCE
    """
    run_tests(body).assert_outcomes(passed=1)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_is_on_the_page(name):
    """Its arguments are listed."""
    assert f"| `blsnb {name} " in TEXT
