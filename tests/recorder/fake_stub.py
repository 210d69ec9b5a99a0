"""A small imitation of the Python backend's stub, for any Python from 3.8 on.

It runs the models of `MODEL_SOURCE` with a recorder file and prints the answers as
JSON. It needs no package: arrays are those of the `array` module.

usage: fake_stub.py RECORDER [kill | small]
"""

from __future__ import annotations

import array
import asyncio
import enum
import json
import os
import resource
import signal
import sys
import threading
import types

WAIT_S = 30
UNTRACED = "r2.0"
"""Id of the requests without a trace."""


class ErrorCode(enum.Enum):
    """Codes of errors, as the backend names them."""

    INTERNAL = 1


class TritonError:
    """An error of a response."""

    def __init__(self, message, code=ErrorCode.INTERNAL):
        self._facts = message, code

    def message(self):
        return self._facts[0]

    def code(self):
        return self._facts[1]


class DataType:
    """The type of `FakeArray`."""

    kind = "f"
    itemsize = 4


class FakeArray:
    """As much of a NumPy array as the recorder needs."""

    dtype = DataType

    def __init__(self, values):
        self.values = array.array("f", values)
        self.shape = (len(self.values),)
        self.size = len(self.values)
        self.nbytes = self.size * 4

    def tobytes(self):
        return self.values.tobytes()

    def reshape(self, *shape):
        return self

    def astype(self, kind):
        return self

    def __getitem__(self, index):
        found = self.values[index]
        return FakeArray(found) if isinstance(index, slice) else found

    def min(self):
        return min(self.values)

    def max(self):
        return max(self.values)

    def mean(self):
        return sum(self.values) / self.size

    std = mean


class Tensor:
    """A tensor on the host."""

    def __init__(self, name, values):
        self._name = name
        self._array = FakeArray(values)

    def name(self):
        return self._name

    def is_cpu(self):
        return True

    def shape(self):
        return list(self._array.shape)

    def as_numpy(self):
        return self._array


class InferenceResponse:
    """A response."""

    def __init__(self, output_tensors=(), error=None):
        self._facts = list(output_tensors), error

    def output_tensors(self):
        return list(self._facts[0])

    def has_error(self):
        return self._facts[1] is not None

    def error(self):
        return self._facts[1]


class InferenceResponseSender:
    """Collects the responses to a request."""

    def __init__(self, request):
        self._request = request

    def send(self, response=None, flags=0):
        if flags not in (0, 1):
            raise ValueError("Unable to send response. Unsupported flag provided.")
        if response is not None:
            self._request.answers.append(text_of(response))
        if flags:
            self._request.final.set()


class ResponseIterator:
    """The responses to a decoupled BLS call."""

    def __init__(self, responses):
        self._left = iter(responses)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._left)


class InferenceTrace:
    """The trace of a request; OpenTelemetry follows every request but `UNTRACED`."""

    def __init__(self, request_id):
        self.request_id = request_id

    def get_context(self):
        return None if self.request_id == UNTRACED else "context of " + self.request_id


class InferenceRequest:
    """A request that a model received or makes."""

    def __init__(
        self,
        request_id="",
        correlation_id=0,
        inputs=(),
        requested_output_names=(),
        model_name="",
        model_version=-1,
        flags=0,
        timeout=0,
        preferred_memory=None,
        trace=None,
        parameters=None,
    ):
        if not isinstance(model_name, str):
            raise TypeError("model_name must be a string")
        self._facts = request_id, correlation_id, flags, timeout
        self._inputs = list(inputs)
        self._outputs = set(requested_output_names)
        self._parameters = json.dumps(parameters or {})
        self._sender = InferenceResponseSender(self)
        self.model_name = model_name
        self.given_trace = trace
        self.answers = []
        self.final = threading.Event()

    def inputs(self):
        return list(self._inputs)

    def request_id(self):
        return self._facts[0]

    def correlation_id(self):
        return self._facts[1]

    def flags(self):
        return self._facts[2]

    def timeout(self):
        return self._facts[3]

    def parameters(self):
        return self._parameters

    def requested_output_names(self):
        return set(self._outputs)

    def trace(self):
        return InferenceTrace(self._facts[0])

    def get_response_sender(self):
        return self._sender

    def exec(self, decoupled=False):
        if self.model_name == "misuse":
            raise TypeError("exec() is misused")
        responses = called(self)
        return ResponseIterator(responses) if decoupled else responses[0]

    def async_exec(self, decoupled=False):
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(None, InferenceRequest._called, self, decoupled)

    def _called(self, decoupled):
        responses = called(self)
        return ResponseIterator(responses) if decoupled else responses[0]


_build = InferenceRequest.__init__


def received(number, value):
    """Return the request of a client; the recorder does not see how it is made."""
    request = InferenceRequest.__new__(InferenceRequest)
    inputs = [Tensor("X", [value])]
    _build(request, "r" + str(number), 0, inputs, ["Y"], parameters={"token": "t"})
    return request


def called(request):
    """Return the responses of a called model: twice its input, several times."""
    value = request.inputs()[0].as_numpy()[0]
    if value < 0:
        return [InferenceResponse(error=TritonError("negative"))]
    count = 3 if request.model_name == "many" else 1
    one = InferenceResponse([Tensor("Y", [value * 2])])
    return [one] * count


def text_of(response):
    """Return what a client sees of a response."""
    if response.has_error():
        return "error: " + response.error().message()
    return [list(each.as_numpy().values) for each in response.output_tensors()]


def error_text(error):
    """Return the text that pybind11 makes of an exception: see the backend."""
    text = f"{type(error).__name__}: {error}"
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    while frame is not None and frame.f_code.co_name != "executed":
        file = os.path.basename(frame.f_code.co_filename)
        # The event loop runs on, so that its lines are those of any moment.
        line = 0 if file.endswith("events.py") else frame.f_lineno
        text += f"\n  {file}({line}): {frame.f_code.co_name}"
        frame = frame.f_back
    return text


MODEL_SOURCE = """
import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import c_python_backend_utils as pb_utils


def request(model, value, **more):
    return pb_utils.InferenceRequest(
        inputs=[pb_utils.Tensor("X", [value])],
        requested_output_names=["Y"],
        model_name=model,
        **more
    )


def value_of(carrier):
    tensors = getattr(carrier, "inputs", None) or carrier.output_tensors
    return tensors()[0].as_numpy()[0]


def answer(value):
    return pb_utils.InferenceResponse([pb_utils.Tensor("Y", [value])])


class Sync:
    def execute(self, requests):
        found = []
        for each in requests:
            assert isinstance(each, pb_utils.InferenceRequest)
            call = request("one", value_of(each), request_id="child",
                           parameters={"token": "secret", "n": 1})
            done = call.exec()
            if done.has_error():
                found.append(pb_utils.InferenceResponse(error=done.error()))
            else:
                found.append(answer(value_of(done)))
        return found


class Gathers:
    async def execute(self, requests):
        found = []
        for each in requests:
            calls = [request("one", value_of(each) + n) for n in range(3)]
            done = await asyncio.gather(*[call.async_exec() for call in calls])
            found.append(answer(sum(value_of(one) for one in done)))
            if value_of(each) == 2:
                await self.fail()
        return found

    async def fail(self):
        raise RuntimeError("awaited")


class Streams:
    def execute(self, requests):
        found = []
        for each in requests:
            responses = request("many", value_of(each)).exec(decoupled=True)
            found.append(answer(sum(value_of(one) for one in responses)))
        return found


class Pools:
    def execute(self, requests):
        with ThreadPoolExecutor(2) as pool:
            work = [pool.submit(self.call, each) for each in requests]
            return [one.result() for one in work]

    def call(self, each):
        return answer(value_of(request("one", value_of(each)).exec()))


class Sends:
    def execute(self, requests):
        for each in requests:
            work = each.get_response_sender(), value_of(each)
            threading.Thread(target=self.work, args=work).start()

    def work(self, sender, value):
        done = request("one", value).exec()
        for response in [done, answer(value)]:
            sender.send(response)
        sender.send(flags=1)


class Fails:
    def execute(self, requests):
        return [self.check(each) for each in requests]

    def check(self, each):
        if value_of(each) > 1:
            request("misuse", 1.0).exec()
        raise ValueError("wrong value")


class Odd:
    def execute(self, requests):
        try:
            requests[0].get_response_sender().send(flags=7)
        except ValueError as error:
            return [answer(len(str(error)))]
"""
MODELS = ("Sync", "Gathers", "Streams", "Pools", "Sends", "Fails", "Odd")
REQUESTS = ([1.0], [-1.0], [2.0], [3.0, 4.0])


def executed(model, requests):
    """Execute requests as the stub does, and return what their clients receive."""
    result = model.execute(requests)
    if asyncio.iscoroutine(result):
        loop = asyncio.new_event_loop()
        try:
            result = loop.run_until_complete(result)
        finally:
            loop.close()
    if result is not None:
        return [text_of(response) for response in result]
    for request in requests:
        assert request.final.wait(WAIT_S)
    return [request.answers for request in requests]


def answer_of(model, requests):
    """Return the answer, or the text of the failure."""
    try:
        return executed(model, requests)
    except Exception as error:
        return error_text(error)


def answers_of(module):
    """Return the answers of all models to all requests."""
    found = {}
    for name in MODELS:
        model = getattr(module, name)()
        for values in REQUESTS:
            requests = [received(value, value) for value in values]
            found[f"{name} {values}"] = answer_of(model, requests)
    return found


def fake_backend():
    """Return the imitation of the compiled module."""
    backend = types.ModuleType("c_python_backend_utils")
    for each in (
        InferenceRequest,
        InferenceResponse,
        InferenceResponseSender,
        ResponseIterator,
        Tensor,
        TritonError,
    ):
        setattr(backend, each.__name__, each)
    return backend


_codes = {}


def load(path):
    """Return the recorder as a new module."""
    if path not in _codes:
        with open(path) as file:
            _codes[path] = compile(file.read(), path, "exec")
    module = types.ModuleType("blsnb_recorder")
    module.__file__ = path
    exec(_codes[path], vars(module))
    return module


def models(backend):
    """Return a module with the models."""
    sys.modules["c_python_backend_utils"] = backend
    module = types.ModuleType("1.model")
    exec(compile(MODEL_SOURCE, "/models/pipeline/1/model.py", "exec"), vars(module))
    return module


def begin(recorder, settings, backend, module):
    """Begin a recording of all models as the recorder does, and return it."""
    recorder._arguments = arguments
    try:
        classes = [getattr(module, name) for name in MODELS]
        return recorder.begin(settings, backend, classes)
    except Exception as error:
        recorder.report(str(error))
        return None


def main(path, mode="record"):
    """Print the answers of the models."""
    backend = fake_backend()
    module = models(backend)
    recorder = load(path)
    settings = recorder.read_settings(os.environ)
    if mode == "small":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    if settings is not None:
        recording = begin(recorder, settings, backend, module)
    answers = answers_of(module)
    if mode == "kill":
        write_now(recording._files)
    print(json.dumps(answers), flush=True)
    if mode == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


def arguments():
    """Return arguments like those of the stub."""
    path = "/models/pipeline/1/model.py"
    return ["stub", path, *[""] * 6, "pipeline_0_0"]


def write_now(files):
    """Write everything that is complete, as the recorder's thread does soon."""
    with files._writing:
        files._write_waiting()


if __name__ == "__main__":
    main(*sys.argv[1:])
