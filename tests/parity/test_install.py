"""Installation of a real server: once, and with the reason if it is impossible."""

import platform

import pytest

from blsnb.parity import install
from blsnb.parity.triton import environment

FITTING = {
    "executable": "/usr/bin/python3.11",
    "implementation": "CPython",
    "version": [3, 11],
    "library": "/usr/lib/libpython3.11.so.1.0",
}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, ""),
        ({"version": [3, 12]}, ""),
        ({"version": [3, 13]}, "is Python 3.13"),
        ({"implementation": "PyPy"}, "is PyPy"),
        ({"library": ""}, "has no shared libpython"),
        ({"failure": "No module named 'ensurepip'"}, "No module named 'ensurepip'"),
    ],
)
def test_interpreters_are_accepted_or_have_an_obstacle(facts, reason):
    """CPython 3.11 and 3.12 with a shared library and venv can be embedded."""
    assert reason == install.obstacle(FITTING | facts)


def test_an_interpreter_that_does_not_start_has_a_failure(tmp_path):
    """Describing it raises nothing."""
    assert "failure" in install.describe(str(tmp_path / "python3.11"))


def test_other_systems_are_refused(monkeypatch):
    """The error names the required and the found system."""
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")

    with pytest.raises(install.CannotInstallError) as refused:
        install.check_machine()

    assert str(refused.value) == "it needs Linux x86_64; this is Darwin arm64"


def test_an_old_glibc_is_refused(monkeypatch):
    """A glibc before 2.35 cannot run the server."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.31"))

    with pytest.raises(install.CannotInstallError) as refused:
        install.check_machine()

    assert str(refused.value) == "it needs glibc 2.35 or later; this is glibc 2.31"


def test_without_an_interpreter_the_error_lists_the_candidates(monkeypatch):
    """It names what to install, and each candidate's obstacle."""
    monkeypatch.setattr(install, "candidates", lambda: iter(["/opt/python3"]))
    monkeypatch.setattr(install, "describe", lambda _: FITTING | {"version": [3, 13]})

    with pytest.raises(install.CannotInstallError) as refused:
        install.find_python()

    assert "python3.11-venv and libpython3.11" in str(refused.value)
    assert str(refused.value).endswith("  /opt/python3: is Python 3.13")


@pytest.mark.parametrize(("required", "status"), [("1", 1), ("", 0)])
def test_an_impossible_installation_fails_only_if_a_server_is_required(
    monkeypatch, capsys, required, status
):
    """BLSNB_REQUIRE_TRITON decides the exit status; stderr contains the reason."""

    def refuse(report):
        raise install.CannotInstallError("it needs a mountain")

    monkeypatch.setattr(install, "install", refuse)
    monkeypatch.setenv("BLSNB_REQUIRE_TRITON", required)

    assert status == install.main()
    assert "it needs a mountain" in capsys.readouterr().err


def test_an_incomplete_installation_is_not_used(tmp_path, monkeypatch):
    """All of its files must exist."""
    parts = {name: str(tmp_path / name) for name in ("server", "backends", "python")}
    env = environment.TritonEnv(
        **parts, python_library=str(tmp_path / "libpython3.11.so.1.0"), package="p"
    )
    monkeypatch.setenv(environment.HOME, str(tmp_path))
    monkeypatch.delenv(environment.HIDE, raising=False)
    assert environment.installed() is None

    env.save()
    assert environment.installed() is None

    for part in (*parts.values(), env.python_library):
        (tmp_path / part).touch()
    assert env == environment.installed()
    assert env.python_version == "3.11"


def test_only_folders_of_an_installation_are_replaced(tmp_path):
    """A folder with other files is refused and unchanged."""
    folder = tmp_path / "home" / "triton"
    install.clear(folder)
    (folder / "half").touch()
    install.clear(folder)
    assert [install.MARK] == [each.name for each in folder.iterdir()]

    with pytest.raises(install.CannotInstallError, match="contains other files"):
        install.clear(tmp_path)
    assert folder.is_dir()


def test_a_checkout_has_its_own_server(tmp_path, monkeypatch):
    """An installed package uses BLSNB_TRITON, else the user's cache."""
    monkeypatch.delenv(environment.HOME, raising=False)
    assert ".triton" == environment.home().name

    monkeypatch.setattr(environment, "_CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert "/cache/blsnb/triton" == str(environment.home())
    monkeypatch.setenv(environment.HOME, "/elsewhere")
    assert "/elsewhere" == str(environment.home())
