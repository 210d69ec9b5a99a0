"""The runtime of a server: the requested one, or CuPy if a device responds."""

from __future__ import annotations

import importlib.util
import os
from typing import NamedTuple

from blsnb.runtimes import NAMES
from blsnb.runtimes.host import NumpyRuntime
from blsnb.runtimes.runtime import DeviceError, Runtime

VARIABLE = "BLSNB_RUNTIME"
"""Environment variable; with the value ``numpy``, ``auto`` looks for no device."""
_EXTRAS = "pip install 'blsnb[cupy12]' for CUDA 12, or 'blsnb[cupy13]' for CUDA 13"
_REQUESTED = "requested by name"


class RuntimeChoice(NamedTuple):
    """A runtime, and the reason for choosing it."""

    runtime: Runtime
    reason: str
    notable: bool = False
    """Whether to report the choice, because it depends on this machine's CuPy."""


def choose(wanted: str | Runtime, *, with_device: bool = False) -> RuntimeChoice:
    """Return the named runtime, or the given one.

    Parameters
    ----------
    wanted
        ``"auto"`` chooses CuPy where a device responds and otherwise NumPy; NumPy
        also if the environment variable ``BLSNB_RUNTIME`` is ``numpy``.
    with_device
        Whether a device is required: ``"auto"`` then falls back to a simulated one.

    Raises
    ------
    ValueError
        The name is unknown, no device responds, or a device is required and the
        runtime has none.
    """
    if not isinstance(wanted, str):
        return RuntimeChoice(wanted, "passed as an object")
    if wanted not in NAMES:
        raise ValueError(
            f"runtime={wanted!r} is not valid; expected {', '.join(map(repr, NAMES))}"
        )
    if wanted == "auto":
        return _automatic(with_device)
    if wanted == "numpy" and with_device:
        raise ValueError(
            "hostile_placement moves tensors to a device and back, and the runtime "
            "'numpy' has none: choose 'auto', 'cupy' or 'simulated'"
        )
    if wanted == "cupy":
        return RuntimeChoice(_requested_cupy(), _REQUESTED)
    runtime = NumpyRuntime() if wanted == "numpy" else _simulated()
    return RuntimeChoice(runtime, _REQUESTED)


def _automatic(with_device: bool) -> RuntimeChoice:
    notable = False
    if os.environ.get(VARIABLE) == "numpy":
        why = f"{VARIABLE} is 'numpy'"
    elif importlib.util.find_spec("cupy") is None:
        why = f"CuPy is not installed ({_EXTRAS})"
    else:
        notable = True
        try:
            return RuntimeChoice(_cupy(), "a device responds", notable)
        except (DeviceError, ImportError) as error:
            why = f"CuPy is installed, but no device responds: {error}"
    if with_device:
        return RuntimeChoice(_simulated(), f"a device is required, and {why}", notable)
    return RuntimeChoice(NumpyRuntime(), why, notable)


def _requested_cupy() -> Runtime:
    try:
        return _cupy()
    except ImportError as error:
        raise ValueError(
            f"the runtime 'cupy' needs CuPy: {error}; {_EXTRAS}"
        ) from error
    except DeviceError as error:
        raise ValueError(f"the runtime 'cupy' needs a device: {error}") from error


def _cupy() -> Runtime:
    from blsnb.runtimes.cupy_runtime import CupyRuntime

    return CupyRuntime()


def _simulated() -> Runtime:
    from blsnb.runtimes.simulated_runtime import SimulatedRuntime

    return SimulatedRuntime()
