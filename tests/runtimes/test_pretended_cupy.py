"""The code of the CuPy runtime holds together, as far as that shows without a GPU."""

import contextlib
import importlib.util
import re
import sys
import types
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

    def test_an_error_on_a_lost_device_says_what_to_do(self, monkeypatch):
        """The model's own error is reported, with the advice as a note."""

        def fails(*_):
            raise pretended_cupy._RuntimeError("cudaErrorIllegalAddress")

        runtime, event = pretended_cupy.cuda.runtime, pretended_cupy._Event

        def loses_it():
            monkeypatch.setattr(runtime, "streamQuery", lambda stream: 700)
            monkeypatch.setattr(event, "synchronize", fails)
            raise KeyError("mine")

        with pytest.raises(KeyError) as plain, self.runtime.measure(0):
            raise KeyError("mine")
        with pytest.raises(KeyError) as failed, self.runtime.measure(0):
            loses_it()
        lost = pretended_cupy._RuntimeError
        with pytest.raises(lost) as late, self.runtime.measure(0):
            pass

        assert self.to_device(FLOATS).lost
        assert not hasattr(plain.value, "__notes__")
        for error in (failed.value, late.value):
            (note,) = error.__notes__
            assert "restart the notebook's kernel" in note

    def test_a_failed_wait_for_a_producer_has_tritons_text(self, monkeypatch):
        """The error of the kernel before it is its cause."""

        def fails():
            raise pretended_cupy._RuntimeError("cudaErrorIllegalAddress")

        made = self.to_device(FLOATS).array
        stream = types.SimpleNamespace(ptr=7, synchronize=fails)
        monkeypatch.setattr(pretended_cupy.cuda, "get_current_stream", lambda: stream)
        text = "Failed to synchronize CUDA device with id 0"
        with pytest.raises(DeviceError, match=text) as failed:
            self.runtime.from_dlpack(made)

        assert "cudaErrorIllegalAddress" == str(failed.value.__cause__)


@pytest.mark.parametrize(
    ("counted", "capability", "is_usable"),
    [(0, "90", False), (2, "59", False), (2, "60", True)],
)
def test_without_a_usable_device_there_is_no_runtime(
    monkeypatch, counted, capability, is_usable
):
    """Triton uses none below capability 6.0."""
    runtime = pretended_cupy.cuda.runtime
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: counted)
    monkeypatch.setattr(pretended_cupy.Device, "compute_capability", capability)
    text = f"of {counted} CUDA devices none has capability 6.0"
    refused = pytest.raises(DeviceError, match=f"^{re.escape(text)}$")
    with contextlib.nullcontext() if is_usable else refused:
        assert counted == MODULE.CupyRuntime().gpu_count


def test_an_error_of_the_driver_is_quoted(monkeypatch):
    """Its text is the reason."""

    def fails():
        raise pretended_cupy._RuntimeError("cudaErrorNoDevice")

    monkeypatch.setattr(pretended_cupy.cuda.runtime, "getDeviceCount", fails)
    with pytest.raises(DeviceError, match="cudaErrorNoDevice"):
        MODULE.CupyRuntime()
