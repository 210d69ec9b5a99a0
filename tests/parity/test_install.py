"""Setting up the real server says clearly where it cannot be done, and does it once."""

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
def test_an_interpreter_fits_or_a_reason_is_given(facts, reason):
    """CPython 3.11 and 3.12 with a shared library and venv can be embedded."""
    assert reason == install.why_not(FITTING | facts)


def test_an_interpreter_that_does_not_start_is_a_reason(tmp_path):
    """A candidate that cannot be run is refused by name, not a crash."""
    assert "failure" in install.describe(str(tmp_path / "python3.11"))


def test_other_systems_are_refused_by_name(monkeypatch):
    """The text names what is needed and what is there."""
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")

    with pytest.raises(install.CannotInstallError) as refused:
        install.check_machine()

    assert str(refused.value) == "it needs Linux x86_64, this is Darwin arm64"


def test_an_old_library_is_refused_by_its_version(monkeypatch):
    """A glibc before 2.35 cannot run the server."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.31"))

    with pytest.raises(install.CannotInstallError) as refused:
        install.check_machine()

    assert str(refused.value) == "it needs glibc 2.35 or later, this is glibc 2.31"


def test_no_fitting_interpreter_lists_those_tried(monkeypatch):
    """The text says what to install, and why each interpreter was refused."""
    monkeypatch.setattr(install, "candidates", lambda: iter(["/opt/python3"]))
    monkeypatch.setattr(install, "describe", lambda _: FITTING | {"version": [3, 13]})

    with pytest.raises(install.CannotInstallError) as refused:
        install.find_python()

    assert "python3.11-venv and libpython3.11" in str(refused.value)
    assert str(refused.value).endswith("  /opt/python3: is Python 3.13")


@pytest.mark.parametrize(("required", "status"), [("1", 1), ("", 0)])
def test_impossible_is_a_failure_only_where_a_server_is_demanded(
    monkeypatch, capsys, required, status
):
    """The script's exit status obeys BLSNB_REQUIRE_TRITON; its text is the reason."""

    def refuse(say):
        raise install.CannotInstallError("it needs a mountain")

    monkeypatch.setattr(install, "install", refuse)
    monkeypatch.setenv("BLSNB_REQUIRE_TRITON", required)

    assert status == install.main()
    assert "it needs a mountain" in capsys.readouterr().err


def test_an_installation_that_lost_a_part_is_none(tmp_path, monkeypatch):
    """What is recorded counts only while every part of it exists."""
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


def test_only_its_own_folder_is_made_anew(tmp_path):
    """A folder with other files is refused, and left as it is."""
    folder = tmp_path / "home" / "triton"
    install.make_room(folder)
    (folder / "half").touch()
    install.make_room(folder)
    assert [install.MARK] == [each.name for each in folder.iterdir()]

    with pytest.raises(install.CannotInstallError, match="holds other files"):
        install.make_room(tmp_path)
    assert folder.is_dir()


def test_without_a_name_a_checkout_keeps_its_own_server(tmp_path, monkeypatch):
    """A user's lies in the cache, or where BLSNB_TRITON says."""
    monkeypatch.delenv(environment.HOME, raising=False)
    assert ".triton" == environment.home().name

    monkeypatch.setattr(environment, "_CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert "/cache/blsnb/triton" == str(environment.home())
    monkeypatch.setenv(environment.HOME, "/elsewhere")
    assert "/elsewhere" == str(environment.home())
