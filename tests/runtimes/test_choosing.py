"""Specification of the choice of a runtime."""

import importlib.util
import subprocess
import sys

import pytest

from blsnb.inference_server import Server
from blsnb.parts import devices as placing
from blsnb.runtimes.choosing import choose
from blsnb.runtimes.simulated_runtime import SimulatedRuntime

INSTALL = "pip install 'blsnb[cupy12]' for CUDA 12, or 'blsnb[cupy13]' for CUDA 13"
BY_NAME = "requested by name"
HAS_CUPY = importlib.util.find_spec("cupy") is not None


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    """Remove the environment variable."""
    monkeypatch.delenv("BLSNB_RUNTIME", raising=False)


def test_the_environment_can_disable_devices(stub, monkeypatch):
    """CuPy is not imported, unless it is requested by name."""
    stub("raise SystemExit('cupy was imported')")
    monkeypatch.setenv("BLSNB_RUNTIME", "numpy")
    chosen = choose("auto")

    assert ("numpy", "BLSNB_RUNTIME is 'numpy'") == (chosen.runtime.name, chosen.reason)
    simulated = choose("auto", with_device=True)
    assert (
        "simulated",
        "a device is required, and BLSNB_RUNTIME is 'numpy'",
        False,
    ) == (simulated.runtime.name, simulated.reason, simulated.notable)
    with pytest.raises(SystemExit):
        choose("cupy")


def test_what_is_given_is_taken():
    """A runtime of one's own needs no name."""
    mine = SimulatedRuntime(2)

    assert (mine, "passed as an object", False) == choose(mine)


@pytest.mark.parametrize("name", ["numpy", "simulated"])
def test_a_runtime_can_be_requested(name):
    """The choice is not worth a notice."""
    chosen = choose(name)

    assert (name, BY_NAME, False) == (
        chosen.runtime.name,
        chosen.reason,
        chosen.notable,
    )
    assert chosen.runtime.gpu_count == (name == "simulated")


def test_an_unknown_name_is_refused():
    """The error lists the runtimes."""
    with pytest.raises(ValueError, match="torch") as caught:
        choose("torch")
    assert (
        "runtime='torch' is not valid; expected 'auto', 'numpy', 'cupy', 'simulated'"
        == str(caught.value)
    )


@pytest.mark.skipif(HAS_CUPY, reason="CuPy is installed here")
def test_auto_has_the_reason_for_numpy():
    """It says what to install."""
    chosen = choose("auto")

    assert "numpy" == chosen.runtime.name
    assert f"CuPy is not installed ({INSTALL})" == chosen.reason
    assert not chosen.notable


@pytest.mark.skipif(HAS_CUPY, reason="CuPy is installed here")
def test_cupy_without_cupy_is_refused():
    """A requested runtime is never replaced."""
    with pytest.raises(ValueError, match="CuPy") as caught:
        choose("cupy")
    assert f"the runtime 'cupy' needs CuPy: No module named 'cupy'; {INSTALL}" == str(
        caught.value
    )


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """Put a module named cupy on the path, and forget it afterwards."""

    def forget():
        for name in ("cupy", "blsnb.runtimes.cupy_runtime"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()

    def put(text):
        (tmp_path / "cupy.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        forget()

    kept = {n: m for n, m in sys.modules.items() if n.split(".")[0] == "cupy"}
    yield put
    forget()
    sys.modules.update(kept)


NO_DRIVER = """
class cuda:
    class MemoryHook: ...
    class runtime:
        class CUDARuntimeError(RuntimeError): ...
        def getDeviceCount():
            raise cuda.runtime.CUDARuntimeError("cudaErrorInsufficientDriver")
"""


def test_auto_falls_back_without_a_device(stub):
    """The reason is reported if CuPy is installed."""
    stub(NO_DRIVER)
    chosen = choose("auto")

    assert "numpy" == chosen.runtime.name
    assert (
        "CuPy is installed, but no device responds: cudaErrorInsufficientDriver"
        == chosen.reason
    )
    assert chosen.notable


def test_a_server_reports_its_runtime_once(stub, capsys):
    """Users who installed CuPy expect it to be used."""
    stub(NO_DRIVER)
    placing._say.cache_clear()
    for _ in range(2):
        Server().close()
    said = capsys.readouterr().err

    assert 1 == said.count("no device responds: cudaErrorInsufficientDriver")
    assert said.startswith("blsnb: NumPy")


def test_cupy_without_a_device_is_refused(stub):
    """The error has the driver's text."""
    stub(NO_DRIVER)
    with pytest.raises(ValueError, match="cudaError") as caught:
        choose("cupy")
    assert "the runtime 'cupy' needs a device: cudaErrorInsufficientDriver" == str(
        caught.value
    )


def test_auto_falls_back_where_cupy_is_broken(stub):
    """A library that does not load is no reason to stop."""
    stub("raise ImportError('libcublas.so.12 is missing')")

    assert "libcublas.so.12 is missing" in choose("auto").reason


def test_where_a_device_is_needed_one_is_simulated(stub):
    """Rather than refuse: it shows what can be shown without one."""
    stub(NO_DRIVER)
    chosen = choose("auto", with_device=True)

    assert "simulated" == chosen.runtime.name
    assert (
        "a device is required, and CuPy is installed, but no device responds: "
        "cudaErrorInsufficientDriver" == chosen.reason
    )
    assert chosen.notable


def test_numpy_is_refused_where_a_device_is_needed():
    """The error lists runtimes with devices."""
    with pytest.raises(ValueError, match="hostile_placement") as caught:
        choose("numpy", with_device=True)
    assert (
        "hostile_placement moves tensors to a device and back, and the runtime "
        "'numpy' has none: choose 'auto', 'cupy' or 'simulated'" == str(caught.value)
    )


def test_importing_blsnb_and_making_a_server_import_no_cupy_but_where_it_is(tmp_path):
    """CUDA is initialised by a server, never by an import."""
    (tmp_path / "cupy.py").write_text("raise SystemExit('cupy was imported')")
    code = (
        "import blsnb, blsnb.inference_server, blsnb.pb_utils.module.module\n"
        "import blsnb.engine.engine, blsnb.runtimes.choosing"
    )
    path = f"{tmp_path}:{':'.join(filter(None, sys.path))}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
