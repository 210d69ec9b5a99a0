"""Arguments that methods accept or refuse, and the repr of objects."""

import pytest

from .asking import run
from .covering import rows

SETUP = """
A = np.array([1.5, 2.5], dtype=np.float32)
t = pb_utils.Tensor("T", A)
R, P = pb_utils.InferenceRequest, pb_utils.InferenceResponse
E, L = pb_utils.TritonError, pb_utils.Logger
ok = dict(inputs=[t], requested_output_names=["O"], model_name="m")
M = pb_utils.PreferredMemory
CPU, GPU = pb_utils.TRITONSERVER_MEMORY_CPU, pb_utils.TRITONSERVER_MEMORY_GPU
r, p, snd = R(**ok), P([t]), request.get_response_sender()
"""

TENSOR = r"""
pb_utils.Tensor()
pb_utils.Tensor("T")
pb_utils.Tensor("T", None)
pb_utils.Tensor("T", [1.0])
pb_utils.Tensor("T", "x")
pb_utils.Tensor(None, A)
pb_utils.Tensor(1, A)
pb_utils.Tensor("T", A, 3)
pb_utils.Tensor(name="T", array=A)
pb_utils.Tensor("T", array=A)
pb_utils.Tensor("", A)
pb_utils.Tensor("T", A.astype(complex))
pb_utils.Tensor("T", A.astype(">f4"))
pb_utils.Tensor("T", np.ma.array(A))
pb_utils.Tensor("T", np.zeros(2, dtype=[("a", "i4")]))
pb_utils.Tensor.from_dlpack()
pb_utils.Tensor.from_dlpack("Q")
pb_utils.Tensor.from_dlpack("Q", None)
pb_utils.Tensor.from_dlpack("", A)
pb_utils.Tensor.from_dlpack(name="Q", obj=A)
pb_utils.Tensor.from_dlpack(1, A)
t.from_dlpack("Q", A)
t.from_dlpack(A)
t.name(1)
t.name(a=1)
t.shape(1)
t.as_numpy(1)
t.is_cpu(1)
t.triton_dtype()
t.to_dlpack(1)
t.__dlpack__(1)
t.__dlpack__(stream=None)
t.__dlpack__(s=None)
t.__dlpack_device__()
t.__dlpack_device__(1)
t.foo
pb_utils.Tensor.name()
pb_utils.Tensor.name(3)
pb_utils.Tensor
pb_utils.Tensor(np.str_("T"), A).name()
pb_utils.Tensor("T", np.float32(3).item())
pb_utils.Tensor(bytearray(b"T"), A).name()
pb_utils.Tensor("\ud800", A)
"""

OBJECT = r"""
setattr(t, "foo", 1)
len(t)
iter(t)
bool(t)
str(type(E.UNKNOWN)(99))
t
r
p
hash(t) == hash(t), t == t, t == pb_utils.Tensor("T", A)
t == "x"
t < t
__import__("copy").copy(t)
__import__("copy").deepcopy(t)
__import__("pickle").dumps(t)
__import__("pickle").dumps(r)
__import__("copy").copy(E.INTERNAL)
np.asarray(t).shape
setattr(r, "x", 1)
setattr(p, "x", 1)
type("Sub", (pb_utils.Tensor,), {})("T", A).shape()
type("Sub", (pb_utils.Tensor,), {"__init__": lambda self: None})()
t + 1
t[0]
t()
"""

REQUEST = r"""
R()
R([t], ["O"], "m")
R(inputs=None, requested_output_names=["O"], model_name="m")
R(inputs=t, requested_output_names=["O"], model_name="m")
R(inputs=[1], requested_output_names=["O"], model_name="m")
R(inputs=[None], requested_output_names=["O"], model_name="m")
R(inputs=(t,), requested_output_names=("O",), model_name="m").requested_output_names()
R(inputs={t}, requested_output_names=["O"], model_name="m")
R(inputs=[t], requested_output_names="SUM", model_name="m")
R(inputs=[t], requested_output_names={"O"}, model_name="m")
R(inputs=[t], requested_output_names=None, model_name="m")
R(inputs=[t], requested_output_names=[None], model_name="m")
R(inputs=[t], requested_output_names=[""], model_name="m")
R([], 3)
R("", 0, [t], ["O", "O"], "m").requested_output_names()
R(inputs=[t], requested_output_names=["O"])
R(inputs=[t], requested_output_names=["O"], model_name=None)
R(inputs=[t], requested_output_names=["O"], model_name=b"m").request_id()
R(request_id=None, **ok)
R(request_id=5, **ok)
R(request_id=b"ab", **ok).request_id()
R(request_id=b"\xff", **ok).request_id()
R(correlation_id=None, **ok)
R(correlation_id=1.5, **ok)
R(correlation_id=b"x", **ok)
R(correlation_id=-1, **ok)
R(correlation_id=2**64, **ok)
R(correlation_id=2**64-1, **ok).correlation_id()
R(correlation_id=True, **ok).correlation_id()
R(correlation_id="abc", **ok).correlation_id()
R(correlation_id="", **ok).correlation_id()
R(model_version="1", **ok)
R(model_version=None, **ok)
R(model_version=1.0, **ok)
R(model_version=True, **ok).flags()
R(model_version=np.int64(1), **ok).flags()
R(model_version=2**63, **ok)
R(flags=None, **ok)
R(flags=-1, **ok)
R(flags=2**32, **ok)
R(flags=3, **ok).flags()
R(flags=2**31, **ok).flags()
R(timeout=1.5, **ok)
R(timeout=-1, **ok)
R(timeout=None, **ok)
R(timeout=2**64, **ok)
R(timeout=2**64-1, **ok).timeout()
R(timeout=np.float32(2), **ok).timeout()
R(timeout=np.bool_(True), **ok).timeout()
R(timeout=np.zeros(0), **ok)
R(timeout=__import__("decimal").Decimal(3), **ok).timeout()
R(timeout=type("I", (), {"__int__": lambda self: 7})(), **ok).timeout()
R(inputs=np.array([t], object), requested_output_names=["O"], model_name="m").flags()
R(inputs=[t], requested_output_names=np.array(["O"]), model_name="m").flags()
R(inputs=np.array(5), requested_output_names=["O"], model_name=5)
R(inputs=[t], requested_output_names=[bytearray(b"O")], model_name="m").flags()
R(inputs=[t], requested_output_names=["\ud800"], model_name="m")
R(request_id=bytearray(b"ab"), **ok).request_id()
R(correlation_id=1.5, parameters=5, **ok)
R(correlation_id=-1, parameters={1: 2}, **ok)
R(preferred_memory=None, **ok)
R(preferred_memory=1, **ok)
R(trace=None, **ok)
R(trace=request.trace(), **ok).trace()
R(parameters=[], **ok)
R(parameters="x", **ok)
R(parameters={1: 2}, **ok)
R(parameters={"a": 1.5}, **ok)
R(parameters={"a": None}, **ok)
R(parameters={"a": b"x"}, **ok)
R(parameters={"a": [1]}, **ok)
R(parameters={"a": np.int64(3)}, **ok)
R(parameters={"a": True, "b": 1, "c": "é"}, **ok).parameters()
R(parameters={}, **ok).parameters()
R(parameters=None, **ok).parameters()
R(parameters={"z": 2**70}, **ok).parameters()
R(parameters={"": 1}, **ok).parameters()
R(bogus=1, **ok)
R(requested_output_name=["O"], inputs=[t], model_name="m")
R("id", 3, [t], ["O"], "m", 2, 1, 7).timeout()
R("id", 3, [t], ["O"], "m", 2, 1, 7, M(CPU), request.trace(), {"a": 1}).parameters()
R("id", 3, [t], ["O"], "m", 2, 1, 7, M(CPU), request.trace(), {"a": 1}, 12)
r.model_name
r.model_name()
r.exec("x")
r.exec(None)
r.exec([])
r.exec(1, 2)
r.exec(decoupled="yes")
r.exec(decouple=True)
r.async_exec("x")
r.async_exec()
r.set_flags()
r.set_flags(-1)
r.set_flags(2**32)
r.set_flags(None)
r.set_flags("x")
r.set_flags(1.0)
r.set_flags(True)
r.set_flags(flags=1)
r.inputs(1)
r.inputs()
r.get_response_sender() is r.get_response_sender()
request.get_response_sender() is snd
r.trace().get_context()
request.trace().get_context()
request.trace().get_context(1)
request.timeout()
request.flags()
request.parameters()
request.correlation_id()
request.request_id()
sorted(request.requested_output_names())
request.inputs()[0] is request.inputs()[0]
request.inputs() is request.inputs()
request.is_cancelled()
request.is_cancelled(1)
request.set_release_flags(1)
request.set_release_flags(7)
request.set_release_flags(0)
request.set_release_flags(2**32 - 1)
request.set_release_flags(2**32)
request.set_release_flags(-1)
request.set_release_flags(None)
request.set_release_flags("x")
request.set_release_flags(flags=1)
request.set_release_flags()
type(request.trace())()
request
R(model_version=-2**63, **ok).flags()
R(flags=True, **ok).flags()
R(inputs=[], requested_output_names=[], model_name="").requested_output_names()
R(inputs=[t, t], requested_output_names=[], model_name="m").inputs()[1] is t
R(request_id="x", inputs=[None], requested_output_names=["O"], model_name="m")
R(request_id="x", inputs=[t], requested_output_names=[""], model_name="m")
R(parameters={"n": {}}, **ok)
R(correlation_id=1.5, inputs=[None], requested_output_names=[""], model_name="m")
"""

RESPONSE = r"""
P(output_tensors=None)
P(t)
P([1])
P([None])
P((t,)).output_tensors()[0] is t
P({t})
P([], "err")
P([], error=ValueError("x"))
P(error=None).has_error()
P(error=E("x")).error().message()
P().error()
P([t], E("a"), {})
P(parameters={})
P(outputs=[t])
p.output_tensors() is p.output_tensors()
p.output_tensors()[0] is t
p.parameters()
p.has_error(1)
p.error(1)
P(__import__("collections").deque([t])).has_error()
P(np.array([t], object)).has_error()
P(range(0)).has_error()
P(__import__("collections").ChainMap()).has_error()
P(np.array(5))
P(np.array([None], object))
"""

ERROR = r"""
E()
E(1)
E(None)
E("x", 3)
E("x", None)
E("x", code=2)
E(message="x", code=E.NOT_FOUND).code()
E(b"bytes").message()
E(b"\xff").message()
E("x").message(1)
E("x").code(1)
E("x", E.INTERNAL, 3)
E("x", kode=E.INTERNAL)
E.UNKNOWN
str(E.UNKNOWN)
E.INTERNAL == 1
E.INTERNAL == 1.0, E.INTERNAL == True, E.INTERNAL == "1", E.INTERNAL == None
E.NOT_FOUND == pb_utils.Logger.ERROR, E.NOT_FOUND != pb_utils.Logger.ERROR
{E.INTERNAL: 0}[1]
type(E.UNKNOWN).__doc__, type(pb_utils.TRITONSERVER_MEMORY_CPU).__doc__
E.INTERNAL is E.INTERNAL
int(E.CANCELLED)
type(E.UNKNOWN)
type(E.UNKNOWN).__name__
type(E.UNKNOWN).__qualname__
type(E.UNKNOWN).__module__
E.UNKNOWN.name
E.UNKNOWN.value
hash(E.CANCELLED)
E.UNKNOWN < E.INTERNAL
E.UNKNOWN | E.INTERNAL
[1,2,3][E.INTERNAL]
E.BOGUS
setattr(E, "UNKNOWN", 3)
E("x").INTERNAL
type(E.UNKNOWN)(3)
type(E.UNKNOWN)(99)
type(E.UNKNOWN)("x")
type(E.UNKNOWN)()
type(E.UNKNOWN).__members__
E("x")
setattr(E("x"), "x", 1)
E(bytearray(b"x")).message()
E("\ud800")
"""

LOGGER = r"""
L()
L.log()
L.log(1)
L.log(None)
L.log("m", 3)
L.log("m", None)
L.log("m", level=2)
L.log(b"bytes")
L.log(b"\xff")
L.log("m", L.INFO, 4)
L.log(msg="x")
L.log(message="m", level=L.WARNING)
L.log_info()
L.log_info(1)
L.log_info(message="m")
L.log_info("m", 1)
L.log_warn(1)
L.log_error(1)
L.log_verbose(1)
L.log_warning("x")
L.INFO
str(L.INFO)
L.LogLevel
repr(L.LogLevel.VERBOSE)
L.LogLevel.__members__
L.VERBOSE is L.LogLevel.VERBOSE
L.log_info(bytearray(b"x"))
"""

MEMORY = r"""
M()
M(1)
M(None)
M(CPU, "x")
M(preferred_memory_type=CPU, preferred_device_id=0)
repr(GPU), repr(CPU)
"""

MODULE = r"""
pb_utils.Tensor.__mro__, type(CPU).__mro__, pb_utils.TritonError.__bases__
pb_utils.get_model_dir(1)
pb_utils.get_model_dir(a=1)
pb_utils.get_model_dir.__name__
pb_utils.__name__, pb_utils.__package__
"""

SENDER = r"""
snd.send(1)
snd.send(p, 2)
snd.send(p, -1)
snd.send(p, None)
snd.send(p, flags="x")
snd.send()
snd.send(None)
snd.send(p, p, p)
snd.send(resp=p)
snd.is_cancelled(1)
type(snd)()
"""

EXCEPTION = r"""
pb_utils.TritonModelException
pb_utils.TritonModelException("a", 1)
pb_utils.TritonModelException("a", 1).args
"""

GROUPS = [
    TENSOR,
    REQUEST,
    RESPONSE,
    ERROR,
    EXCEPTION,
    LOGGER,
    MEMORY,
    MODULE,
    MODULE,
    SENDER,
    OBJECT,
]
EXPRESSIONS = [line for group in GROUPS for line in group.strip().splitlines()]


BEGINNINGS = {
    "pb_utils.Tensor(": "3.1/constructor",
    'pb_utils.Tensor("T", np.float32(3)': "3.2/not-an-ndarray-none-list-tuple",
    "pb_utils.Tensor(1,": "3.2/name-none-int",
    "pb_utils.Tensor(None,": "3.2/name-none-int",
    "pb_utils.Tensor.from_dlpack(": "3.1/from_dlpack",
    "t.name(": "3.1/name",
    "t.shape(": "3.1/shape",
    "t.as_numpy(": "3.1/as_numpy",
    "t.is_cpu(": "3.1/is_cpu",
    "t.triton_dtype(": "3.1/triton_dtype",
    "t.to_dlpack(": "3.1/to_dlpack",
    "t.__dlpack__(": "3.1/__dlpack__",
    "t.__dlpack_device__(": "3.1/__dlpack_device__",
    "R(request_id=": "4.1/request_id",
    "R(correlation_id=": "4.1/correlation_id",
    "R(inputs=": "4.1/inputs",
    "R(inputs=[t], requested_output_names=": "4.1/requested_output_names",
    'R(inputs=[t], requested_output_names=["O"], model_name=': "4.1/model_name",
    "R(model_version=": "4.1/model_version",
    "R(flags=": "4.1/flags",
    "R(timeout=": "4.1/timeout",
    "R(preferred_memory=": "4.1/preferred_memory",
    "R(trace=": "4.1/trace",
    "R(parameters=": "4.1/parameters",
    "r.inputs(": "4.2/inputs",
    "request.request_id(": "4.2/request_id",
    "request.correlation_id(": "4.2/correlation_id",
    "request.flags(": "4.2/flags",
    "r.set_flags(": "4.2/set_flags-arg0",
    "request.timeout(": "4.2/timeout",
    "request.parameters(": "4.2/parameters",
    "sorted(request.requested_output_names(": "4.2/requested_output_names",
    "r.trace(": "4.2/trace",
    "r.exec(": "4.2/exec-decoupled-false",
    "r.async_exec(": "4.2/async_exec-decoupled-false",
    "request.get_response_sender(": "4.2/get_response_sender",
    "request.is_cancelled(": "4.2/is_cancelled",
    "request.set_release_flags(": "4.2/set_release_flags-arg0",
    "P(output_tensors=None": "5/output_tensors-none-a-bare-tensor-non",
    "P(t)": "5/output_tensors-none-a-bare-tensor-non",
    "P([1])": "5/output_tensors-none-a-bare-tensor-non",
    "P([None])": "5/element-none",
    "P((t,))": "5/tuple",
    "P(error=None": "5/error-none",
    'P([], "err"': "5/error-none",
    "p.output_tensors(": "5/output_tensors",
    "p.has_error(": "5/has_error",
    "p.error(": "5/error",
    "p.parameters(": "5/parameters-25-02",
    "type(E.UNKNOWN).__members__": (
        "1/tritonerror-unknown-internal-not_found-invalid_arg-unavailable"
    ),
    "L.LogLevel.__members__": "1/logger-info-warning-error-verbose-also",
    "repr(GPU), repr(CPU)": "1/tritonserver_memory_gpu-tritonserver_memory_cpu",
    "snd.send(p, ": "8/flags-not-0-or-1-true",
    "snd.send()": "8/flags-0-and-no-response",
}
ROWS_OF_EXPRESSIONS = {
    expression: [
        row for start, row in BEGINNINGS.items() if expression.startswith(start)
    ]
    for expression in EXPRESSIONS
}


@rows(ROWS_OF_EXPRESSIONS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression(agree, expression):
    """Each expression returns Triton's value, or raises its class and text."""
    agree(lambda target: run(target, f"{SETUP}trial(lambda: ({expression}))"))
