"""The code of the CuPy runtime holds together, as far as that shows without a GPU."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import blsnb.runtimes
from blsnb.runtimes.runtime import DeviceError

from . import pretended_cupy
from .contract import FLOATS
from .test_contract import DeviceContract


def loaded():
    """Load the runtime's module a second time, with the pretender for CuPy."""
    path = Path(blsnb.runtimes.__file__).with_name("cupy_runtime.py")
    spec = importlib.util.spec_from_file_location("runtime_on_a_pretender", path)
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get("cupy")
    sys.modules["cupy"] = pretended_cupy
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop("cupy")
        if before is not None:
            sys.modules["cupy"] = before
    return module


MODULE = loaded()


class TestPretendedCupy(DeviceContract):
    """The contract, on a module that pretends."""

    runtime = MODULE.CupyRuntime()

    def host(self, array):
        return array._array.raw()

    def test_device_and_versions_are_described(self):
        """The text has name, CuPy, CUDA and driver."""
        words = "a pretended device with CuPy 0.0, CUDA 12.9, driver for CUDA 13.0"

        assert words == self.runtime.describe()

    def test_exhausted_memory_is_a_device_error(self, monkeypatch):
        """Only the request fails."""

        def full(*_, **__):
            raise pretended_cupy._OutOfMemoryError("out of memory")

        memory = self.to_device(FLOATS)
        monkeypatch.setattr(pretended_cupy, "asarray", full)
        monkeypatch.setattr(pretended_cupy, "array", full)
        with pytest.raises(DeviceError, match="out of memory"):
            self.to_device(FLOATS)
        with pytest.raises(DeviceError, match="out of memory"):
            memory.copied()

    def test_the_peak_of_an_execution_is_measured(self):
        """Memory freed before the end counts, too."""
        memory = self.to_device(np.zeros(1 << 10, np.uint8))
        with self.runtime.measure(0) as measured:
            _ = memory.array + 1
            _ = memory.array + 1
        more = measured.use.peak_bytes - measured.use.in_use_bytes

        assert more >= 1 << 10


@pytest.mark.parametrize(
    ("counted", "capability", "words"),
    [(0, "90", "of 0 CUDA devices"), (2, "52", "of 2 CUDA devices none has")],
)
def test_without_a_usable_device_there_is_no_runtime(
    monkeypatch, counted, capability, words
):
    """Triton uses none below capability 6.0."""
    runtime = pretended_cupy.cuda.runtime
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: counted)
    monkeypatch.setattr(pretended_cupy.Device, "compute_capability", capability)
    with pytest.raises(DeviceError, match=words):
        MODULE.CupyRuntime()


def test_an_error_of_the_driver_is_quoted(monkeypatch):
    """Its text is the reason."""

    def fails():
        raise pretended_cupy._RuntimeError("cudaErrorNoDevice")

    monkeypatch.setattr(pretended_cupy.cuda.runtime, "getDeviceCount", fails)
    with pytest.raises(DeviceError, match="cudaErrorNoDevice"):
        MODULE.CupyRuntime()
