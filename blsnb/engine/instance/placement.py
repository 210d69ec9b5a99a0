"""Tensors and model code on the host or on a device, as on Triton."""

from __future__ import annotations

import inspect
import itertools
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from blsnb.arguments import plain
from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request.inflight import Execution, Inflight
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.model.rules.validate import forces_cpu
from blsnb.pb_utils.message import ResponseMessage
from blsnb.runtimes.runtime import DeviceError, Runtime
from blsnb.tensors.device_ref import DeviceRef, on_host
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.memory import HOST, device_name, device_number
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Call
from blsnb.trace.facts import Copy

Refs = tuple[TensorRef, ...]


class HostilePlacement:
    """Moves tensors at random as Triton might, to expose models that rely on luck.

    The n-th tensor of each name is decided on its own, so a seed gives the same result
    independently of other models.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._numbers: dict[tuple[str, str, str], itertools.count[int]] = defaultdict(
            itertools.count
        )

    def moves(self, model: str, tensor: str, role: str) -> bool:
        """Whether a tensor is moved.

        Parameters
        ----------
        role
            ``"input"`` or ``"output"``.
        """
        number = next(self._numbers[model, tensor, role])
        words = f"{self.seed}/{model}/{tensor}/{role}/{number}"
        # A string seed gives the same number in every process.
        return random.Random(words).random() < 0.5


def parse_hostile(seed: object) -> HostilePlacement | None:
    """Return the hostile placement of a setting; None if it is off.

    Raises
    ------
    ValueError
        The seed is not an integer.
    """
    if seed is None or seed is False:
        return None
    seed = plain(seed)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(
            f"hostile_placement={seed!r} is not valid; expected a seed, such as 7, or "
            "None"
        )
    return HostilePlacement(seed)


class Placements:
    """How a server places tensors of the models that it loads.

    Parameters
    ----------
    runtime
        Has the devices, if there are any.
    hostile
        Moves tensors that Triton may move; None moves only those that must move.
    """

    def __init__(
        self, runtime: Runtime, hostile: HostilePlacement | None = None
    ) -> None:
        self.runtime = runtime
        self.hostile = hostile
        self._devices_left = False
        """Whether models that use an earlier runtime may still serve."""

    def use(self, runtime: Runtime) -> None:
        """Use another runtime."""
        self._devices_left = self._devices_left or bool(self.gpu_count)
        self.runtime = runtime

    @property
    def gpu_count(self) -> int:
        """Number of devices on which models can run."""
        return self.runtime.gpu_count

    def of(self, config: ModelConfig, *, host_only: bool = False) -> Placement | None:
        """Return the placement of a model; None without a device.

        Parameters
        ----------
        host_only
            Whether its backend only accepts tensors in host memory.
        """
        if not self.gpu_count and not self._devices_left:
            return None
        host_only = host_only or not self.gpu_count or forces_cpu(config)
        return Placement(config, self, host_only)


class Placement:
    """Moves the tensors of one model's requests, and records each copy.

    References
    ----------
    python_backend: src/python_be.cc, ModelInstanceState::GetInputTensor;
    src/request_executor.cc, ResponseAlloc
    """

    def __init__(
        self, config: ModelConfig, placements: Placements, host_only: bool
    ) -> None:
        self._model = config.name
        self._runtime, self._hostile = placements.runtime, placements.hostile
        self._host_only = host_only

    def inputs(self, call: Call, refs: Refs) -> Refs:
        """Return the inputs, moved to where the model receives them.

        That is the host, unless the configuration allows inputs on a device. The kind
        of the instance does not matter.
        """
        return tuple([self._input(call, ref) for ref in refs])

    def _input(self, call: Call, ref: TensorRef) -> TensorRef:
        if self._host_only or ref.dtype is BYTES:
            return self._moved(call, ref, HOST)
        return self._maybe_moved(call, ref, "input")

    def outputs(self, inflight: Inflight, response: ResponseMessage) -> None:
        """Move outputs to the memory that the caller prefers, if it has a preference.

        An output that cannot be moved fails the request.
        """
        wanted, call = inflight.message.memory, inflight.call
        if wanted is not None and not self._runtime.gpu_count:
            wanted = HOST
        try:
            response.outputs = tuple(
                self._maybe_moved(call, ref, "output")
                if wanted is None
                else self._moved(call, ref, wanted)
                for ref in response.outputs
            )
        except DeviceError as error:
            response.outputs, response.error = (), str(error)

    def leave(self, inflight: Inflight, response: ResponseMessage) -> None:
        """Place the only response of a request, as part of its compute time."""
        call = inflight.call
        self.outputs(inflight, response)
        if call.device is not None and call.compute_end_ns:
            call.compute_end_ns = CLOCK.now_ns()
        if response.error is not None:
            self.explain([inflight])

    def _maybe_moved(self, call: Call, ref: TensorRef, role: str) -> TensorRef:
        """Return a tensor that may be anywhere; hostile placement may move it."""
        hostile = self._hostile
        if hostile is None or ref.dtype is BYTES:
            return ref
        if not hostile.moves(self._model, ref.name, role):
            return ref
        target = HOST if ref.device != HOST else device_name(0)
        try:
            return self._moved(call, ref, target, hostile=True)
        except DeviceError:
            # The device has no memory left, and the move is optional.
            return ref

    def _moved(
        self, call: Call, ref: TensorRef, target: str, hostile: bool = False
    ) -> TensorRef:
        if ref.device == target or ref.dtype is BYTES:
            return ref
        start = CLOCK.now_ns()
        moved = _copied(ref, target, self._runtime)
        copy = Copy(
            start,
            CLOCK.now_ns() - start,
            ref.name,
            ref.byte_size,
            ref.device,
            target,
            hostile,
        )
        call.device_work().copies.append(copy)
        return moved

    def explain(self, inflights: list[Inflight]) -> None:
        """Note on failed requests which tensors hostile placement had moved."""
        if self._hostile is None:
            return
        for inflight in inflights:
            for call in (inflight.call, *_made_by(inflight)):
                for text in _copy_notes(call, self._hostile.seed):
                    inflight.note(text)


def _copied(ref: TensorRef, target: str, runtime: Runtime) -> TensorRef:
    if target == HOST:
        return on_host(ref)
    dtype = ref.dtype.dtype or np.dtype(np.uint16)
    data = ref.data
    assert data is not None
    memory = runtime.to_device(data, dtype, ref.shape, device_number(target))
    return DeviceRef(ref.name, ref.dtype, ref.shape, memory)


def _made_by(inflight: Inflight) -> list[Call]:
    """Return the BLS calls of a request."""
    calls = inflight.root.record.calls
    return [call for call in calls if call.parent is inflight.call]


def _copy_notes(call: Call, seed: int) -> list[str]:
    moved = [] if call.device is None else call.device.copies
    return [
        f"Hostile placement (seed {seed}) had moved {copy.tensor!r} of call "
        f"{call.id}, {call.model.name}, from {copy.source} to {copy.target}. Triton "
        "may do that, too: check is_cpu(), read a tensor on a device with DLPack, or "
        "set preferred_memory in the request."
        for copy in moved
        if copy.hostile
    ]


T = TypeVar("T")


class OnDevice:
    """Runs hooks with a device as the current one.

    Parameters
    ----------
    runtime
        Has the device.
    number
        Number of the device.
    """

    def __init__(self, runtime: Runtime, number: int) -> None:
        self._runtime = runtime
        self._number = number

    def call(self, work: Callable[[], T]) -> T:
        """Call a hook other than ``execute``."""
        __tracebackhide__ = True
        with self._runtime.measure(self._number):
            return work()

    def execute(
        self, execution: Execution, hook: Callable[[Any], Any], requests: Any
    ) -> Any:
        """Call ``execute``, and wait for its work on the device.

        A coroutine is only created here, so its work on a device is not measured.
        """
        __tracebackhide__ = True
        with self._runtime.measure(self._number) as measured:
            result = hook(requests)
        if not inspect.iscoroutine(result):
            for inflight in execution.inflights:
                inflight.call.device_work().use = measured.use
        return result


def on_device(runtime: Runtime, spec: InstanceSpec) -> OnDevice | None:
    """Return the device of an instance; None for the host."""
    if spec.kind != "GPU" or spec.device_id >= runtime.gpu_count:
        return None
    return OnDevice(runtime, spec.device_id)
