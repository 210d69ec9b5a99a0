"""OnDevice: an instance of kind GPU runs its model's code on its device, measured."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from blsnb.model.config import InstanceSpec
from blsnb.runtimes.runtime import Runtime

if TYPE_CHECKING:
    from blsnb.engine.request.inflight import Execution

T = TypeVar("T")


class OnDevice:
    """Makes a device the current one while code of a model runs.

    Parameters
    ----------
    runtime
        Has the device.
    number
        Of the device.
    """

    def __init__(self, runtime: Runtime, number: int) -> None:
        self._runtime = runtime
        self._number = number

    def call(self, work: Callable[[], T]) -> T:
        """Call a hook that serves no request."""
        __tracebackhide__ = True
        with self._runtime.measure(self._number):
            return work()

    def execute(
        self, execution: Execution | None, hook: Callable[[Any], Any], requests: Any
    ) -> Any:
        """Call ``execute``; when this returns, so has the device's work for it.

        A coroutine is only made here: what it does on a device is not measured.
        """
        __tracebackhide__ = True
        with self._runtime.measure(self._number) as measured:
            result = hook(requests)
        if execution is not None and not inspect.iscoroutine(result):
            for inflight in execution.inflights:
                inflight.call.device_work().use = measured.use
        return result


def on_device(runtime: Runtime, spec: InstanceSpec) -> OnDevice | None:
    """Return what an instance runs on; None for the host."""
    if spec.kind != "GPU" or spec.device_id >= runtime.gpu_count:
        return None
    return OnDevice(runtime, spec.device_id)
