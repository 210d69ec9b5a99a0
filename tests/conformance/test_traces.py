"""Trace files of a real server and of blsnb."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import grpc
import pytest
from tritonclient.grpc import service_pb2 as pb

from blsnb import InferenceError, Server, load_trace
from blsnb.parity.triton.environment import installed
from blsnb.parity.triton.server_process import TritonServer
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Span, Trace

from .asking import script, texts
from .covering import rows
from .over_grpc import message
from .reference import TRIES
from .targets import REPOSITORIES, Request, Target
from .triton_target import CALL_S, MORTAL

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
KID = """pb_utils.InferenceRequest(model_name='echo', request_id='{}',
requested_output_names=['{}'], inputs=[pb_utils.Tensor('{}', np.array([[{}]],
np.{}))], trace=request.trace()).exec();"""
SAYABLE = " ".join(
    [
        *KID.format("kid", "INT16", "INT16", "1, -2", "int16").split("\n"),
        *KID.format("other kid", "FP32", "FP32", "1/3, 1e10", "float32").split("\n"),
        "returned = [answer('done')]",
    ]
)
"""A text that leaves valid JSON also on Triton: without quotes and new lines."""
FAILS = "raise ValueError('boom')"
CASES = {
    "sayable": ("script", SAYABLE),
    "traced": ("script", TRACED),
    "half": ("script", HALF),
    "fails": ("script", FAILS),
    "streamed": ("script_decoupled", STREAMED),
    "chained": ("chained", "returned = [answer('returned = [answer(str(5))]')]"),
    "out of sequence": ("sequenced", ""),
    "of the wrong shape": ("script", "two"),
}
MODELS = ("echo", "script", "script_decoupled")
WRITTEN = (*MODELS, "chained", "sequenced")
STEP = """step {{ model_name: "script" model_version: -1
  input_map {{ key: "CODE" value: "{}" }} output_map {{ key: "OUT" value: "{}" }} }}"""
CHAINED = f"""
platform: "ensemble"
input {{ name: "CODE" data_type: TYPE_STRING dims: [ 1 ] }}
output {{ name: "OUT" data_type: TYPE_STRING dims: [ -1 ] }}
ensemble_scheduling {{ {STEP.format("CODE", "MIDDLE")} {STEP.format("MIDDLE", "OUT")} }}
"""
"""The first step returns the text that the second one runs."""


class Files:
    """The trace files of the cases, by kind of server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[str, dict[str, Path]] = {}

    def of(self, target: Target) -> dict[str, Path]:
        """Return the files by case."""
        if target.name not in self._written:
            write = _ours if target.name == "blsnb" else _real
            self._written[target.name] = dict(write(self._folder / target.name))
        return self._written[target.name]

    def trace(self, target: Target, name: str) -> Trace:
        """Return the parsed trace of one file."""
        [run] = load_trace(self.of(target)[name])
        return run.trace


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("traced"))


def _put_others(folder: Path) -> Path:
    """Write the models derived from others into a repository, and return it."""
    (folder / "chained" / "1").mkdir(parents=True)
    (folder / "chained" / "config.pbtxt").write_text(CHAINED)
    shutil.copytree(REPOSITORIES / "script", folder / "sequenced")
    with (folder / "sequenced" / "config.pbtxt").open("a") as config:
        config.write("sequence_batching {}")
    return folder


def _request(name: str) -> Request:
    """Return the requests of a case."""
    model, code = CASES[name]
    if code == "two":
        return Request(model, [("CODE", texts("a", "b"))], id=name)
    return script(code, model, id=name)


def _real(folder: Path) -> Iterator[tuple[str, Path]]:
    for model in MODELS:
        shutil.copytree(REPOSITORIES / model, folder / "repository" / model)
    _put_others(folder / "repository")
    file = folder / "trace.json"
    settings = ("mode=triton", "rate=1", "level=TIMESTAMPS", "level=TENSORS")
    settings += (f"triton,file={file}", "triton,log-frequency=1")
    arguments = [*MORTAL, *(f"--trace-config={setting}" for setting in settings)]
    env = installed()
    assert env is not None
    for tries_left in reversed(range(TRIES)):
        server = TritonServer(env, folder / "repository", folder / "log", arguments)
        try:
            _ask(server)
            break
        except grpc.RpcError:
            # It dies at times; its successor writes the files anew.
            if server.alive or not tries_left:
                raise
        finally:
            server.close()
    for number, name in enumerate(CASES):
        yield name, file.with_name(f"trace.json.{number}")


def _ask(server: TritonServer) -> None:
    for model in WRITTEN:
        load = pb.RepositoryModelLoadRequest(model_name=model)
        server.stub.RepositoryModelLoad(load, timeout=CALL_S)
    for name in CASES:
        asked = iter([message(_request(name))])
        list(server.stub.ModelStreamInfer(asked, timeout=CALL_S))


def _ours(folder: Path) -> Iterator[tuple[str, Path]]:
    folder.mkdir()
    roots = [REPOSITORIES, _put_others(folder / "repository")]
    with Server(model_repository=roots, startup_models=WRITTEN) as server:
        for name, (model, code) in CASES.items():
            inputs = {"CODE": ["a", "b"] if code == "two" else [textwrap.dedent(code)]}
            try:
                stream = server.stream(model, inputs, request_id=name)
                list(stream)
                run = stream.run
            except InferenceError as refused:
                run = refused.run
            yield name, run.export_trace(folder / f"{name}.json")


def comparable(trace: Trace) -> list[object]:
    """Return what must agree of a trace's calls: everything except times."""
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


@pytest.mark.parametrize("name", ["traced", "fails", "streamed", "chained"])
def test_a_run_leaves_as_the_real_server_traces_it(agree, files, name):
    """Models, callers, activities, shapes and values, to the last character."""

    def case(target):
        spans = comparable(files.trace(target, name))
        return [repr(span) for span in spans if "not traced" not in span[0]]

    agree(case)


ROUNDED = "a trace file has floats of six digits"
CORE = ("REQUEST", "QUEUE", "COMPUTE")
ADDED = ("response_parameters",)
"""Keys that only blsnb writes: an ensemble's response has sequence parameters."""


def contents(file: Path) -> list[object]:
    """Return the contents of each trace in order, without times and exact values."""
    events = json.loads(file.read_text())
    first = min(event["id"] for event in events)
    return [
        _spoken(number, first, [each for each in events if each["id"] == number])
        for number in dict.fromkeys(event["id"] for event in events)
    ]


def _spoken(number: int, first: int, events: list[dict]) -> list[object]:
    at = next(n for n, event in enumerate(events) if "model_name" in event)
    who = {key: value for key, value in events[at].items() if key not in ADDED}
    who["id"] -= first
    if "parent_id" in who:
        who["parent_id"] -= first
    lists = [event["timestamps"] for event in events if "timestamps" in event]
    stamps = [stamp for each in lists for stamp in each]
    core = [each for each in stamps if each["name"].startswith(CORE)]
    tensors = [
        [each["activity"], sorted(each["tensor"]), each["tensor"]["name"]]
        for each in events
        if "tensor" in each
    ]
    return [
        who,
        events[at + 1]["timestamps"][0]["name"],
        [len(each) for each in lists if each[0] in core],
        [each["name"] for each in sorted(core, key=lambda each: each["ns"])],
        sorted({each["name"] for each in stamps} - {each["name"] for each in core})
        if "parent_id" in who
        else [],
        sorted(tensors),
    ]


@rows(
    "r5.3/ids-are-integers-unique-per-server",
    "r5.3/in-a-file-child-traces-come",
    "r5.3/the-metadata-event-comes-right-before",
    "r5.3/ns-monotonic-clock-not-epoch-common",
    "r5.3/each-timestamps-list-holds-exactly-one",
    "r5.3/names",
    "r5.3/typical-order-by-time-top-level",
    "r5.3/children-bls-ensemble-steps-have-only",
    "r5.3/tensors-level-activities-tensor_queue_input-tensor_backend_output",
)
def test_a_file_is_written_as_the_real_server_writes_it(agree, files):
    """Events, their order and their keys; of the end point it knows nothing."""
    agree(lambda target: contents(files.of(target)["sayable"]))


@rows(
    "r5.3/children-bls-ensemble-steps-have-only",
    "r5.3/ensemble-top-trace-request_start-queue_start-infer_response_complete",
)
def test_an_ensemble_is_written_as_the_real_server_writes_it(agree, files):
    """It computes nothing itself; its steps have its id."""
    agree(lambda target: contents(files.of(target)["chained"]))


REFUSED = "a refused request leaves no trace"


@rows("r5.3/request-rejected-by-the-scheduler-request_start")
def test_a_refusal_of_the_scheduler_has_no_end(agree, files):
    """On Triton; the file of blsnb also has its time and error."""

    def ours(known, seen):
        [[*asked, core, apart, tensors]] = known
        assert ["REQUEST_START", "QUEUE_START"] == core
        assert [[*asked, [*core, "REQUEST_END"], apart, [*tensors, INPUT]]] == seen

    def case(target):
        [[who, first, _, *rest]] = contents(files.of(target)["out of sequence"])
        return [[who, first, *rest]]

    agree(case, deviates=REFUSED, ours=ours)


INPUT = ["TENSOR_QUEUE_INPUT", ["data", "dtype", "name", "shape"], "CODE"]


@rows("r5.3/request-rejected-by-the-scheduler-request_start")
def test_what_is_no_request_of_the_model_is_in_no_file(agree, files):
    """On Triton; the file of blsnb has the run with its error."""

    def ours(known, seen):
        assert (False, True) == (known, seen)

    agree(
        lambda target: files.of(target)["of the wrong shape"].exists(),
        deviates=REFUSED,
        ours=ours,
    )


UNTRACED = "a BLS request without `trace=request.trace()` leaves no trace"


@rows("r5.3/bls-child-is-traced-only-if")
def test_calls_that_triton_leaves_out_are_there(agree, files):
    """A request without `trace=` leaves no trace on Triton."""

    def ours(known, seen):
        assert (3, 4) == (known, seen)

    agree(
        lambda target: len(files.trace(target, "traced").spans),
        deviates=UNTRACED,
        ours=ours,
    )


@rows("r5.3/data-all-elements-joined-by-bool", "r5.3/fp-values-in-default-c-stream")
def test_values_that_triton_leaves_out_are_there(agree, files):
    """Half floats are described only; a file of ours has them, and all digits."""

    def case(target):
        [_, half] = files.trace(target, "half").spans
        return [str(_values(half.inputs)), floats(files.of(target)["sayable"])]

    def ours(known, seen):
        assert ["[('FP16', 'FP16', (1, 2), None)]", ["0.333333,1e+10"]] == known
        assert [
            "[('FP16', 'FP16', (1, 2), [[1.0, 2.0]])]",
            ["0.333333343,1e+10"],
        ] == seen

    agree(case, deviates=ROUNDED, ours=ours)


def floats(file: Path) -> list[str]:
    """The texts of all tensors of floats that were outputs."""
    return [
        event["tensor"]["data"]
        for event in json.loads(file.read_text())
        if event.get("activity") == "TENSOR_BACKEND_OUTPUT"
        and event["tensor"]["dtype"] == "FP32"
    ]
