"""Specification of the checks of shared libraries that a configuration names."""

from pathlib import Path

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.rules.plugins import check_agents, check_runtime


def refusal(check, text, *given):
    """The error of a configuration of a Python model named m."""
    config = parse_pbtxt(f'name: "m" backend: "python" {text}')
    with pytest.raises(ModelConfigError) as caught:
        check(config.message, *given)
    return caught.value


@pytest.mark.parametrize(
    "path", ["", "libtriton_python.so", "./../python/libtriton_python.so"]
)
def test_the_own_library_of_the_backend_is_accepted(path):
    """It may be named, also by a path in the folder of backends."""
    config = parse_pbtxt(f'name: "m" backend: "python" runtime: "{path}"')

    assert check_runtime(config.message, Path("r/m/1")) is None


def test_a_backend_in_python_is_searched_beside_the_others():
    """The text is that of a server whose backends are no links."""
    error = refusal(check_runtime, 'runtime: "model.py"', Path("r/m/1"))

    assert (
        "unable to find Python backend based backend library 'model.py' for model "
        "'m', searched: '/opt/tritonserver/backends/python/model.py'"
    ) == error.message
    assert ("create", "INVALID_ARG") == (error.stage, error.code)
    assert (
        "Leave runtime out: blsnb runs backends, and no other shared libraries."
    ) == error.advice


def test_the_library_of_another_backend_is_never_loaded(tmp_path):
    """The error shows its path, and that blsnb loads none."""
    (tmp_path / "1").mkdir()
    library = tmp_path / "own.so"
    library.write_bytes(b"\x7fELF".ljust(64, b"\0"))
    error = refusal(check_runtime, 'runtime: "own.so"', tmp_path / "1")

    assert (
        f"unable to load shared library: {library}: blsnb loads no shared libraries"
    ) == error.message
    assert "NOT_FOUND" == error.code


def test_a_library_is_searched_in_three_folders():
    """The text ends with a blank, as Triton's does."""
    error = refusal(check_runtime, 'runtime: "own.so"', Path("r/m/1"))

    assert (
        "unable to find backend library 'own.so' for model 'm', searched: 'r/m/1' "
        "'r/m' '/opt/tritonserver/backends/python' "
    ) == error.message
    assert "INVALID_ARG" == error.code


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot read file data: Is a directory"),
        (b"\x7fELF".ljust(63, b"\0"), "file too short"),
        (b"x" * 64, "invalid ELF header"),
    ],
)
def test_a_file_that_is_no_library_has_the_linkers_reason(tmp_path, content, reason):
    """The folder of the version is the first one."""
    (tmp_path / "1").mkdir()
    (tmp_path / "own.so").write_bytes(b"")
    library = tmp_path / "1" / "own.so"
    if content is None:
        library.mkdir()
    else:
        library.write_bytes(content)
    error = refusal(check_runtime, 'runtime: "own.so"', tmp_path / "1")

    assert f"unable to load shared library: {library}: {reason}" == error.message


def test_a_configuration_without_agents_is_accepted():
    """Most have none."""
    assert check_agents(parse_pbtxt('name: "m"').message) is None


def test_agents_without_an_agent_are_refused():
    """Triton fails, or ends; the advice is to leave them out."""
    error = refusal(check_agents, "model_repository_agents { }")

    assert "model m has model_repository_agents without an agent" == error.message
    assert (
        "Triton fails to load the model, or ends. Leave the field out."
    ) == error.advice


def test_a_missing_agent_is_named():
    """The first one counts; the advice is to leave them out."""
    agents = "agents { name: 'checksum' } agents { name: 'other' }"
    error = refusal(check_agents, f"model_repository_agents {{ {agents} }}")

    assert (
        "unable to find 'libtritonrepoagent_checksum.so' for repo agent 'checksum', "
        "searched: /opt/tritonserver/repoagents"
    ) == error.message
    assert (
        "blsnb has no repository agents. Leave model_repository_agents out here; "
        "a server with this agent needs it."
    ) == error.advice
