"""Trace files: what a real server writes of a request, beside what blsnb writes."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable

import pytest
from tritonclient.grpc import service_pb2 as pb

from blsnb import Server, load_trace
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Span, Trace

from .asking import script
from .reference import required
from .targets import REPOSITORIES
from .triton_env import installed
from .triton_server import TritonServer
from .triton_target import message

pytestmark = pytest.mark.triton_server

TRACED = r"""
def child(name, *tensors, **how):
    asked = [tensor.name() for tensor in tensors]
    pb_utils.InferenceRequest(
        model_name="echo", request_id=name, requested_output_names=asked,
        inputs=list(tensors), **how).exec()

numbers = np.array([[1, 2.5], [1e10, 0.1]])
texts = [["plain", 'quo"te'], ["back\\slash", "new\nline, \"x\",y"]]
few = pb_utils.Tensor("FP32", numbers.astype(np.float32))
child("one", few, trace=request.trace())
child("two",
      pb_utils.Tensor("BOOL", numbers > 1), pb_utils.Tensor("FP64", numbers),
      pb_utils.Tensor("INT8", np.array([[-1, 34]], np.int8)),
      pb_utils.Tensor("UINT8", np.array([[0, 34, 44, 92, 255]], np.uint8)),
      pb_utils.Tensor("INT64", np.array([[-2**63]])),
      pb_utils.Tensor("UINT64", np.array([[2**64 - 1]], np.uint64)),
      pb_utils.Tensor("STRING", np.array(texts, object)), trace=request.trace())
child("not traced", few)
returned = [answer("done")]
"""
STREAMED = """
sender = request.get_response_sender()
for text in ("a", "b", "c"):
    sender.send(answer(text))
sender.send(flags=FINAL)
"""
HALF = """
tensor = pb_utils.Tensor("FP16", np.array([[1, 2]], np.float16))
pb_utils.InferenceRequest(
    model_name="echo", requested_output_names=["FP16"], inputs=[tensor],
    trace=request.trace()).exec()
returned = [answer("done")]
"""
FAILS = "raise ValueError('boom')"
CASES = {
    "traced": ("script", TRACED),
    "half": ("script", HALF),
    "fails": ("script", FAILS),
    "streamed": ("script_decoupled", STREAMED),
}
MODELS = ("echo", "script", "script_decoupled")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    """What a real server wrote of the cases, imported."""
    env = installed()
    if env is None:
        if required():
            pytest.fail("run tests/conformance/install_triton.py first", pytrace=False)
        pytest.skip("no real Triton server here")
    folder = tmp_path_factory.mktemp("traced")
    for model in MODELS:
        shutil.copytree(REPOSITORIES / model, folder / "repository" / model)
    file = folder / "trace.json"
    settings = ("mode=triton", "rate=1", "level=TIMESTAMPS", "level=TENSORS")
    settings += (f"triton,file={file}", "triton,log-frequency=1")
    arguments = [f"--trace-config={setting}" for setting in settings]
    server = TritonServer(env, folder / "repository", folder / "log", arguments)
    try:
        _ask(server)
    finally:
        server.close()
    return {run.trace.request_id: run.trace for run in load_trace(file)}


def _ask(server: TritonServer) -> None:
    for model in MODELS:
        load = pb.RepositoryModelLoadRequest(model_name=model)
        server.stub.RepositoryModelLoad(load, timeout=30)
    for name, (model, code) in CASES.items():
        asked = iter([message(script(code, model, id=name))])
        list(server.stub.ModelStreamInfer(asked, timeout=30))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    """What blsnb wrote of them, imported."""
    folder = tmp_path_factory.mktemp("ours")
    found = {}
    with Server(model_repository=REPOSITORIES, startup_models=MODELS) as server:
        for name, (model, code) in CASES.items():
            stream = server.stream(
                model, {"CODE": [textwrap.dedent(code)]}, request_id=name
            )
            list(stream)
            path = stream.run.export_trace(folder / f"{name}.json")
            [run] = load_trace(path)
            found[name] = run.trace
    return found


def known(trace: Trace) -> list[object]:
    """What must agree of a trace's calls: everything but when."""
    return [_known(trace, span) for span in trace.spans]


def _known(trace: Trace, span: Span) -> object:
    outputs = [*span.outputs, *(ref for each in span.responses for ref in each.outputs)]
    model = trace.models[span.model]
    return (
        (model.name, model.version, span.request_id, span.parent),
        [activity for activity, _ in span.events],
        bool(span.flags & CallFlag.DECOUPLED),
        _values(span.inputs),
        _values(outputs),
        span.notes,
    )


def _values(refs: Iterable[TensorRef]) -> list[object]:
    """Tensors by name: Triton writes them in the order of a hash table."""
    return [
        (r.name, r.dtype.datatype, r.shape, None if r.evicted else r.view().tolist())
        for r in sorted(refs, key=lambda ref: ref.name)
    ]


@pytest.mark.parametrize("name", ["traced", "fails", "streamed"])
def test_a_run_leaves_as_the_real_server_traces_it(real, ours, name):
    """Models, callers, activities, shapes and values, to the last character."""
    traced = [span for span in known(ours[name]) if "not traced" not in span[0]]

    assert known(real[name]) == traced


def test_calls_that_triton_leaves_out_are_there(real, ours):
    """A request without `trace=` leaves no trace on Triton."""
    assert [3, 4] == [len(trace["traced"].spans) for trace in (real, ours)]


def test_values_that_triton_leaves_out_are_there(real, ours):
    """Half floats are described only; a file of ours has them."""
    [_, theirs], [_, own] = real["half"].spans, ours["half"].spans

    assert [("FP16", "FP16", (1, 2), None)] == _values(theirs.inputs)
    assert [("FP16", "FP16", (1, 2), [[1, 2]])] == _values(own.inputs)
