"""``blsnb test``: a model repository's own tests, with its models served."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blsnb.command.arguments import (
    CommandError,
    become,
    check_installed,
    first,
    shows_help,
)

_HELP = """\
usage: blsnb test REPOSITORY [OPTION OF PYTEST ...]

Run the tests in the folder "tests" of a model repository with pytest. Its models are
what the fixture triton_server serves; each test has a server of its own, unless
"-o triton_share=session" or a mark lets tests share one.

Options after the repository are pytest's, such as -k, -x or

  --triton-artefacts FOLDER  folder of the pages of failed tests' runs

Tests elsewhere: pytest --triton-repository REPOSITORY FOLDER

The exit status is pytest's: 0 if all passed, 1 if a test failed, 5 without any test.
"""
_TESTS = "tests"


def run(words: Sequence[str]) -> int:
    """Replace this process by pytest."""
    if shows_help(words, _HELP):
        return 0
    repository, options = first(words)
    if repository is None:
        raise CommandError("name a model repository (see blsnb test --help)")
    folder = Path(repository)
    if not folder.is_dir():
        reason = "it is a file" if folder.exists() else "it does not exist"
        raise CommandError(f"{repository!r} is not a folder of models: {reason}")
    tests = folder / _TESTS
    if not tests.is_dir():
        raise CommandError(
            f"{repository!r} has no folder {_TESTS!r}. Tests elsewhere: "
            f"pytest --triton-repository {repository} FOLDER"
        )
    check_installed("pytest", "pytest")
    become("pytest", [str(tests), f"--triton-repository={folder}", *options])
