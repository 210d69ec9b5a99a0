"""Installation of a real server: once, and with the reason if it is impossible."""

import os
import platform
import re
import sys

import pytest
import stage

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


def test_the_package_is_found_among_those_of_its_environment(tmp_path):
    """No interpreter has to start."""
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    found = install.package_of(tmp_path / "bin" / "python")

    assert packages / "pytriton" / "tritonserver" == found


def test_other_systems_are_refused(monkeypatch):
    """The error names the required and the found system."""
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")

    with pytest.raises(install.CannotInstallError) as refused:
        install.check_machine()

    assert "it needs Linux x86_64; this is Darwin arm64" == str(refused.value)


def test_an_old_glibc_is_refused(monkeypatch):
    """A glibc before 2.35 cannot run the server."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.31"))

    with pytest.raises(install.CannotInstallError) as refused:
        install.check_machine()

    assert "it needs glibc 2.35 or later; this is glibc 2.31" == str(refused.value)


def test_without_an_interpreter_the_error_lists_the_candidates(monkeypatch):
    """It names what to install, and each candidate's obstacle."""
    monkeypatch.setattr(install, "candidates", lambda: iter(["/opt/python3"]))
    monkeypatch.setattr(install, "describe", lambda _: FITTING | {"version": [3, 13]})

    begin = (
        "it needs CPython 3.11 or 3.12 with venv and a shared library (on Debian and "
        "Ubuntu: python3.11-venv and libpython3.11). Tried:\n"
    )

    with pytest.raises(install.CannotInstallError) as refused:
        install.find_python()
    monkeypatch.setattr(install, "candidates", lambda: iter([]))
    with pytest.raises(install.CannotInstallError) as without:
        install.find_python()

    assert f"{begin}  /opt/python3: is Python 3.13" == str(refused.value)
    assert f"{begin}  none found" == str(without.value)


def test_the_first_interpreter_that_fits_is_embedded(monkeypatch):
    """It may be a link to another one, which is the program that runs."""
    facts = {"/a": {"failure": "no"}, "/b": FITTING, "/c": FITTING | {"library": "/c"}}
    monkeypatch.setattr(install, "candidates", lambda: iter(facts))
    monkeypatch.setattr(install, "describe", facts.get)

    assert (FITTING["executable"], FITTING["library"]) == install.find_python()


def test_candidates_are_each_interpreter_once(tmp_path, monkeypatch):
    """That of this process comes first, those of pyenv last."""
    base, path, pyenv = tmp_path / "base", tmp_path / "path", tmp_path / "pyenv"
    names = {
        base / "bin": ["python3", "python3.10", "python3.12"],
        path: ["python3", "python3.11", "python3.11.1"],
        pyenv / "versions/3.12.1/bin": ["python3.12", "python3.11"],
        pyenv / "versions/3.11.9/bin": ["python3"],
        pyenv / "versions/3.13.0/bin": ["python3"],
    }
    for folder, programs in names.items():
        folder.mkdir(parents=True)
        for name in programs:
            (folder / name).touch()
    (path / "python3").unlink()
    (path / "python3").symlink_to(base / "bin" / "python3")
    monkeypatch.setattr(sys, "base_prefix", str(base))
    monkeypatch.setattr(os, "get_exec_path", lambda: [str(path)])
    monkeypatch.setenv("PYENV_ROOT", str(pyenv))
    found = [each for each in install.candidates() if each.startswith(str(tmp_path))]

    assert [
        f"{base}/bin/python3.12",
        f"{base}/bin/python3",
        f"{path}/python3.11",
        f"{pyenv}/versions/3.11.9/bin/python3",
        f"{pyenv}/versions/3.12.1/bin/python3.11",
        f"{pyenv}/versions/3.12.1/bin/python3.12",
    ] == found


def test_an_interpreter_describes_itself(tmp_path):
    """Its last line on stderr is why it fails."""
    facts = install.describe(sys.executable)
    silent, failing = tmp_path / "silent", tmp_path / "failing"
    silent.write_text("#!/bin/sh\nexit 1\n")
    failing.write_text("#!/bin/sh\necho one >&2; echo two >&2; exit 1\n")
    for script in (silent, failing):
        script.chmod(0o755)

    assert (platform.python_implementation(), [*sys.version_info[:2]]) == (
        facts["implementation"],
        facts["version"],
    )
    assert {"failure": "two"} == install.describe(str(failing))
    assert {"failure": "it does not start"} == install.describe(str(silent))


PACKAGE_FILES = (
    "bin/tritonserver",
    "backends/python/libtriton_python.so",
    "backends/python/triton_python_backend_utils.py",
    "python_backend_stubs/3.11/triton_python_backend_stub",
)


@pytest.fixture
def installing(tmp_path, monkeypatch):
    """Install into a folder, with commands that only make a package's files."""
    packages = tmp_path / "home" / "venv" / "lib" / "python3.11" / "site-packages"
    package = packages / "pytriton" / "tritonserver"

    def run(command):
        stage.seen.append(command)
        for path in map(package.joinpath, PACKAGE_FILES):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    monkeypatch.setattr(install, "run", run)
    monkeypatch.setattr(install, "check_machine", lambda: None)
    monkeypatch.setattr(install, "find_python", lambda: ("/py", "/libpython3.11.so.1"))
    monkeypatch.setenv(environment.HOME, str(tmp_path / "home"))
    monkeypatch.delenv(environment.HIDE, raising=False)
    return package


def test_a_server_is_installed_with_an_environment_of_its_own(installing, tmp_path):
    """The package comes without its dependencies, which are pytriton's."""
    home, steps = tmp_path / "home", []
    env = install.install(steps.append)
    python = f"{home}/venv/bin/python"
    pip = [python, "-m", "pip", "install", "--quiet"]
    backend = home / "backends" / "python"
    files = {each.name: each.resolve() for each in backend.iterdir()}

    assert [
        ["/py", "-m", "venv", f"{home}/venv"],
        [*pip, "numpy<2"],
        [*pip, "--no-deps", "nvidia-pytriton==0.7.0"],
    ] == stage.seen
    assert [
        f"create an environment in {home}",
        "download and install nvidia-pytriton==0.7.0",
    ] == steps
    assert {
        "libtriton_python.so": installing / PACKAGE_FILES[1],
        "triton_python_backend_utils.py": backend / "triton_python_backend_utils.py",
        "triton_python_backend_stub": installing / PACKAGE_FILES[3],
    } == files
    assert (
        environment.TritonEnv(
            server=str(installing / "bin/tritonserver"),
            backends=str(home / "backends"),
            python=python,
            python_library="/libpython3.11.so.1",
            package="nvidia-pytriton==0.7.0",
        )
        == env
    )
    assert all(os.access(installing / PACKAGE_FILES[n], os.X_OK) for n in (0, 3))
    assert str(env.server) in (home / environment.STAMP).read_text()


@pytest.mark.parametrize(
    ("package", "again"), [("nvidia-pytriton==0.7.0", False), ("other", True)]
)
def test_an_installed_server_of_this_package_is_used(
    installing, monkeypatch, package, again
):
    """Another one is replaced."""
    env = environment.TritonEnv("/s", "/b", "/p", "/l", package)
    monkeypatch.setattr(install, "installed", lambda: env)

    assert again is (install.install() != env)
    assert again is bool(stage.seen)


def test_packages_are_added_and_numpy_stays(monkeypatch):
    """The newest version replaces one that does not exist for the server's Python."""
    env = environment.TritonEnv("/s", "/b", "/p", "/l", "p")

    def run(command):
        stage.seen.append(command)
        if command[-1] in ("old==1", "gone"):
            raise install.CannotInstallError("no")

    monkeypatch.setattr(install, "run", run)
    install.add(env, ["good==1", "old==1"])
    with pytest.raises(install.CannotInstallError):
        install.add(env, ["gone"])

    pip = ["/p", "-m", "pip", "install", "--quiet", "numpy<2"]
    names = ["good==1", "old==1", "old", "gone"]
    assert [[*pip, name] for name in names] == stage.seen


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo out; echo why >&2; exit 3", "why"),
        ("echo ' out '; exit 1", "out"),
        ("printf 'a%.0s' $(seq 2001); exit 1", "a" * 2000),
    ],
)
def test_a_command_that_fails_is_an_error_with_its_output(script, told):
    """Its end is the reason."""
    install.run(["/bin/sh", "-c", "exit 0"])
    with pytest.raises(install.CannotInstallError) as failed:
        install.run(["/bin/sh", "-c", script])

    assert f"/bin/sh -c {script} failed:\n{told}" == str(failed.value)


def test_the_command_installs_the_server_and_packages(monkeypatch, capsys):
    """Steps are on stderr, the server on stdout."""
    env = environment.TritonEnv("/s", "/b", "/p", "/l", "p")

    def installed(report):
        report("a step")
        return env

    monkeypatch.setattr(install, "install", installed)
    monkeypatch.setattr(install, "add", lambda *given: stage.seen.append(given))

    assert [0, 0] == [install.main(), install.main(["a"])]
    assert [(env, ["a"])] == stage.seen
    assert ("real Triton server: /s\n" * 2, "blsnb: a step\n" * 2) == (
        capsys.readouterr()
    )


@pytest.mark.parametrize("version", ["2.35", "2.35.1", "3.0"])
def test_a_machine_with_a_new_glibc_is_accepted(monkeypatch, version):
    """Another C library is not."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", version))
    install.check_machine()
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))

    with pytest.raises(install.CannotInstallError) as refused:
        install.check_machine()
    assert "it needs glibc 2.35 or later; this is not glibc " == str(refused.value)


@pytest.mark.parametrize(("required", "status"), [("1", 1), ("", 0)])
def test_an_impossible_installation_fails_only_if_a_server_is_required(
    monkeypatch, capsys, required, status
):
    """BLSNB_REQUIRE_TRITON decides the exit status; stderr contains the reason."""

    def refuse(report):
        raise install.CannotInstallError("it needs a mountain")

    monkeypatch.setattr(install, "install", refuse)
    monkeypatch.setenv("BLSNB_REQUIRE_TRITON", required)

    told = "no real Triton server on this machine: it needs a mountain\n"
    assert [(status, 1), ("", 2 * told)] == [
        (install.main(), install.main(["package"])),
        capsys.readouterr(),
    ]


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
    assert "3.11" == env.python_version


def test_only_folders_of_an_installation_are_replaced(tmp_path):
    """A folder with other files is refused and unchanged."""
    folder = tmp_path / "home" / "triton"
    install.clear(folder)
    (folder / "half").touch()
    install.clear(folder)
    assert [install.MARK] == [each.name for each in folder.iterdir()]

    text = f"{tmp_path} contains other files; set BLSNB_TRITON to an empty folder"
    with pytest.raises(install.CannotInstallError, match=f"^{re.escape(text)}$"):
        install.clear(tmp_path)
    assert folder.is_dir()
    (folder / install.MARK).rename(folder / environment.STAMP)
    install.clear(folder)
    assert [install.MARK] == [each.name for each in folder.iterdir()]


def test_a_checkout_has_its_own_server(tmp_path, monkeypatch):
    """An installed package uses BLSNB_TRITON, else the user's cache."""
    monkeypatch.delenv(environment.HOME, raising=False)
    assert ".triton" == environment.home().name

    monkeypatch.setattr(environment, "_CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert "/cache/blsnb/triton" == str(environment.home())
    monkeypatch.setenv(environment.HOME, "/elsewhere")
    assert "/elsewhere" == str(environment.home())
