"""Which runtime a server has: the one that was asked for, or the one that answers."""

from __future__ import annotations

import importlib.util
import os
from typing import NamedTuple

from blsnb.runtimes.host import NumpyRuntime
from blsnb.runtimes.runtime import DeviceError, Runtime

NAMES = ("auto", "numpy", "cupy", "simulated")
VARIABLE = "BLSNB_RUNTIME"
"""Of the environment: with the value ``numpy``, ``auto`` looks for no device."""
_EXTRAS = "pip install 'blsnb[cupy12]' for CUDA 12, or 'blsnb[cupy13]' for CUDA 13"


class RuntimeChoice(NamedTuple):
    """A runtime, and why it is this one."""

    runtime: Runtime
    reason: str
    notable: bool = False
    """Whether it was found out here, and is not what everybody expects."""


def choose(wanted: str | Runtime, *, with_device: bool = False) -> RuntimeChoice:
    """Return the runtime of a name, or the one that is given.

    Parameters
    ----------
    wanted
        ``"auto"`` takes CuPy where a device answers, and else NumPy; also if the
        variable ``BLSNB_RUNTIME`` of the environment is ``numpy``.
    with_device
        Whether a device is needed: ``"auto"`` then takes a simulated one.

    Raises
    ------
    ValueError
        There is no such runtime, no device answers, or one is needed and it has none.
    """
    if not isinstance(wanted, str):
        return RuntimeChoice(wanted, "it was given")
    if wanted not in NAMES:
        raise ValueError(f"runtime must be one of {', '.join(NAMES)}, not {wanted!r}")
    if wanted == "auto":
        return _automatic(with_device)
    if wanted == "numpy" and with_device:
        raise ValueError(
            "hostile_placement moves tensors to a device and back, and the runtime "
            "'numpy' has none: choose 'auto', 'cupy' or 'simulated'"
        )
    if wanted == "cupy":
        return RuntimeChoice(_asked_for_cupy(), "it was asked for")
    runtime = NumpyRuntime() if wanted == "numpy" else _simulated()
    return RuntimeChoice(runtime, "it was asked for")


def _automatic(with_device: bool) -> RuntimeChoice:
    if os.environ.get(VARIABLE) == "numpy":
        why, notable = f"{VARIABLE} says so", False
    elif importlib.util.find_spec("cupy") is None:
        why, notable = f"CuPy is not installed ({_EXTRAS})", False
    else:
        try:
            return RuntimeChoice(_cupy(), "a device answers", notable=True)
        except (DeviceError, ImportError) as error:
            why, notable = f"CuPy is installed, and no device answers: {error}", True
    if with_device:
        return RuntimeChoice(_simulated(), f"a device is needed, and {why}", notable)
    return RuntimeChoice(NumpyRuntime(), why, notable)


def _asked_for_cupy() -> Runtime:
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
