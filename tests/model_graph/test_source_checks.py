"""Specification of the checks of a model's source that need no run."""

import json
from pathlib import Path

import pytest

from blsnb.model_graph.hooks import hook_findings
from blsnb.model_graph.source_checks import check_model, name_findings
from blsnb.model_graph.sources.source import Program, Source
from blsnb.parts.server_parts import parts_of

ROOT = Path(__file__).parents[2]
CONFIG = """
backend: "python"
input { name: "X" data_type: TYPE_FP32 dims: 4 }
output { name: "Y" data_type: TYPE_FP32 dims: 4 }
"""
MODEL = """
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            {}
        return responses
"""
SEND = "responses.append(pb_utils.InferenceResponse([pb_utils.Tensor({})]))"


def checked(server, body, config=CONFIG, model=MODEL):
    server.define("m", model.format(body), config=config)
    return [f"{f.place}: {f.text}" for f in check_model(parts_of(server), "m")]


WRONG = {
    "an undefined name": (
        "responses.append(np.abs(answer))",
        "model.py:9: undefined name 'answer'",
    ),
    "an output that is not declared": (
        SEND.format("'Z', np.negative(x)"),
        "model.py:9: sends output 'Z', which the configuration does not declare",
    ),
    "an output of another type": (
        SEND.format("'Y', np.negative(x).astype(np.int64)"),
        "model.py:9: sends output 'Y' as INT64; the configuration declares FP32",
    ),
    "an input that is not declared": (
        "mask = pb_utils.get_input_tensor_by_name(request, 'x')\n"
        "            responses.append(pb_utils.InferenceResponse([mask, np.abs(x)]))",
        "model.py:9: reads input 'x', which the configuration does not declare. "
        "Did you mean 'X'?",
    ),
    "an array of NumPy's default type": (
        SEND.format("'Y', np.zeros((1, 4))"),
        "model.py:9: sends output 'Y' as FP64; the configuration declares FP32",
    ),
    "a BLS target that is nowhere": (
        "pb_utils.InferenceRequest(model_name='nn', inputs=[np.abs(x)]).exec()",
        "model.py:9: calls model 'nn', which the repository does not have",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_found_before_the_first_request(server, case):
    """With its line, and a similar name where there is one."""
    body, expected = WRONG[case]

    assert [expected] == checked(server, body)


CALLEE = CONFIG.replace('"X"', '"A"').replace('"Y"', '"B"')
STREAMING = CALLEE + "model_transaction_policy { decoupled: true }"
COUNTS = CALLEE.replace("TYPE_FP32", "TYPE_INT64")
ASK = "pb_utils.InferenceRequest(model_name='callee', inputs=[{}]{})"
TENSOR = "pb_utils.Tensor('A', {})"


def bls(array, tensor=TENSOR, rest="", execute=".exec()"):
    """Return a BLS call of the callee, with its array."""
    return ASK.format(tensor.format(array), rest) + execute


CONTRADICTIONS = {
    "an input name": (
        CALLEE,
        bls("x", "pb_utils.Tensor('a', {})"),
        [
            "sends input 'a' to model 'callee', which declares A. Did you mean 'A'?",
            "does not send input 'A' to model 'callee'",
        ],
    ),
    "a requested output": (
        CALLEE,
        bls("x", rest=", requested_output_names=['C']"),
        ["requests output 'C' of model 'callee', which declares B"],
    ),
    "a datatype": (
        CALLEE,
        bls("np.array([1, 2, 3, 4])"),
        ["sends input 'A' as INT64 to model 'callee', which expects FP32"],
    ),
    "the datatype of the caller's own input": (
        COUNTS,
        bls("pb_utils.get_input_tensor_by_name(request, 'X').as_numpy()"),
        ["sends input 'A' as FP32 to model 'callee', which expects INT64"],
    ),
    "a shape": (
        CALLEE,
        bls("np.full((1, 4), 0.5, np.float32)"),
        ["sends input 'A' with shape [1,4] to model 'callee', which expects [4]"],
    ),
    "a shape of reshape": (
        CALLEE,
        bls("np.abs(x).reshape(1, -1)"),
        ["sends input 'A' with shape [1,-1] to model 'callee', which expects [4]"],
    ),
    "one response of a stream": (
        STREAMING,
        bls("x"),
        [
            "calls model 'callee', which is decoupled, with exec(): the request fails. "
            "Write exec(decoupled=True) and iterate over the responses"
        ],
    ),
    "one response of a stream, asynchronous": (
        STREAMING,
        bls("x", execute=".async_exec(decoupled=False)"),
        [
            "calls model 'callee', which is decoupled, with async_exec(): the request "
            "fails. Write async_exec(decoupled=True) and iterate over the responses"
        ],
    ),
}
AGREEMENTS = {
    "the right names": (CALLEE, bls("x", rest=", requested_output_names=['B']")),
    "a typed array": (CALLEE, bls("np.zeros(4, np.float32)")),
    "an array of a type that a variable holds": (CALLEE, bls("np.zeros(4, x.dtype)")),
    "an array of a variable's type": (CALLEE, bls("np.zeros(4, dtype=d)")),
    "a cast to a variable's type": (CALLEE, bls("np.zeros(4).astype(d)")),
    "an imported type": (CALLEE, bls("np.zeros(4, float32)")),
    "zeros of another library": (CALLEE, bls("torch.zeros(4).numpy()")),
    "a stream": (STREAMING, bls("x", execute=".exec(decoupled=True)")),
    "a stream, by position": (STREAMING, bls("x", execute=".exec(True)")),
    "a stream on a condition": (STREAMING, bls("x", execute=".exec(decoupled=flag)")),
    "a request that another function executes": (STREAMING, bls("x", execute="")),
}


def checked_call(server, callee, body):
    server.define("callee", "class TritonPythonModel:\n    pass\n", config=callee)
    known = "import types as torch\nfrom numpy import float32\n"
    known += "flag = d = bool(torch and float32)\n" + MODEL + "\nassert np\n"
    return [each.partition(": ")[2] for each in checked(server, body, model=known)]


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_request_that_contradicts_its_callee_is_found(server, case):
    """With what the callee expects, and what to write."""
    callee, body, expected = CONTRADICTIONS[case]

    assert expected == checked_call(server, callee, body)


@pytest.mark.parametrize("case", AGREEMENTS)
def test_a_request_that_may_be_valid_has_no_finding(server, case):
    """What cannot be decided is not reported."""
    callee, body = AGREEMENTS[case]

    assert [] == checked_call(server, callee, body)


def test_a_callee_that_is_not_loaded_contradicts_nothing(server):
    """It may declare further tensors when it is loaded."""
    _, body, _ = CONTRADICTIONS["an input name"]
    server.define("callee", "class TritonPythonModel:\n    pass\n", config=CALLEE)
    server.unload("callee")

    assert [] == checked(server, body, model=MODEL + "\nassert np\n")


HOOKS = {
    "execute without requests": (
        "def execute(self): return []",
        "'def execute(self)' does not fit: Triton calls execute(requests). "
        "Write def execute(self, requests)",
    ),
    "execute without self": (
        "def execute(requests): return []",
        "'def execute(requests)' does not fit: Triton calls execute(requests). "
        "Write def execute(self, requests)",
    ),
    "an argument too many": (
        "def execute(self, requests, *, limit): return []",
        "'def execute(self, requests, *, limit)' does not fit: Triton calls "
        "execute(requests). Write def execute(self, requests)",
    ),
    "finalize with an argument": (
        "def finalize(self, args): pass",
        "'def finalize(self, args)' does not fit: Triton calls finalize(). "
        "Write def finalize(self)",
    ),
    "an asynchronous initialize": (
        "async def initialize(self, args): pass",
        "'async def initialize' never runs: Triton does not await it. Write def",
    ),
}
VALID_HOOKS = (
    "def execute(self, requests, limit=3): return []",
    "def execute(self, *requests): return []",
    "async def execute(self, requests): return []",
    "@staticmethod\n    def execute(requests): return []",
    "@classmethod\n    def initialize(cls, args): pass",
    "def auto_complete_config(auto_complete_model_config):\n"
    "        return auto_complete_model_config",
    "import functools\n    @functools.cache\n    def finalize(self): pass",
)


@pytest.mark.parametrize("case", HOOKS)
def test_a_method_that_triton_cannot_call_is_found(server, case):
    """With the call and the definition that fits."""
    hook, expected = HOOKS[case]

    assert [f"model.py:2: {expected}"] == checked(
        server, "", model=f"class TritonPythonModel:\n    {hook}\n"
    )


@pytest.mark.parametrize(
    "hook",
    [
        "@staticmethod\n    def execute(self, requests): return []",
        "@classmethod\n    def execute(requests): return []",
        "@staticmethod\n    def finalize(self): pass",
    ],
)
def test_a_decorator_decides_whether_python_adds_an_argument(server, hook):
    """A static method has no self, a class method has its class."""
    model = f"class TritonPythonModel:\n    {hook}\n"
    [finding] = checked(server, "", model=model)

    assert finding.startswith("model.py:3: 'def ")
    assert "' does not fit: Triton calls " in finding


@pytest.mark.parametrize("hook", VALID_HOOKS)
def test_a_method_that_triton_can_call_has_no_finding(server, hook):
    """Defaults, any arguments, static and class methods, coroutines."""
    model = f"class TritonPythonModel:\n    {hook}\n"

    assert [] == checked(server, "", model=model)


def test_the_methods_of_models_like_those_of_nvidia_have_no_finding():
    """Backends of large language models, with helpers beside each model."""
    paths = [*(ROOT / "tests" / "model_graph" / "repositories").rglob("*.py")]
    found = [
        (path.name, str(finding))
        for path in paths
        for finding in hook_findings(
            "m", Source("model.py", path.read_bytes(), Program(lambda _: None))
        )
    ]

    assert [] == found
    assert len(paths) > 5


def test_an_unused_import_is_named(server):
    """As pyflakes names it."""
    model = "import os\n" + MODEL

    found = checked(server, SEND.format("'Y', np.abs(x)"), model=model)

    assert ["model.py:1: 'os' imported but unused"] == found


STREAM = """
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            sender.send(pb_utils.InferenceResponse(request.inputs())){}
"""


@pytest.mark.parametrize(
    ("end", "count"),
    [
        ("", 1),
        ("\n            sender.send(flags=pb_utils."
         "TRITONSERVER_RESPONSE_COMPLETE_FINAL)", 0),
        ("\n            sender.send(None, 1)", 0),
        ("\n            sender.send(flags=1)", 0),
    ],
)  # fmt: skip
def test_a_stream_without_an_end_is_found(server, end, count):
    """Where no call of send has flags."""
    config = CONFIG + "model_transaction_policy { decoupled: true }"

    found = checked(server, end, config, STREAM)

    advice = (
        "model.py:7: never sends the final flag: its requests do not end. After the "
        "last response call "
        "sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)"
    )
    assert [advice] * count == found


def test_a_correct_model_has_no_finding(server):
    """One that passes its input on, or computes it."""
    assert [] == checked(server, SEND.format("'Y', np.negative(x)"))


def cells():
    """Yield the model sources of all tutorials with their notebooks."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            text = "".join(cell["source"])
            if text.startswith("%%triton_model"):
                yield path.name, text.partition("\n")[2]


def test_the_tutorials_have_no_false_alarm():
    """Its models have one undefined name: the one that the tutorial on errors shows."""
    sources = list(cells())
    found = [
        (name, str(finding))
        for name, text in sources
        for finding in name_findings(
            "m", Source("model.py", text.encode(), Program(lambda _: None))
        )
    ]

    assert len(sources) > 20
    assert [("03_errors.ipynb", "m (model.py:6): undefined name 'np'")] == found


def test_the_models_of_the_conformance_tests_have_only_true_findings(server):
    """Each is a mistake that a test makes on purpose."""
    server.import_repository(ROOT / "tests" / "repositories")
    found = {
        finding.text
        for status in server.models()
        if status.state == "READY"
        for finding in check_model(parts_of(server), status.name)
    }

    assert {
        "calls model 'nope', which the repository does not have",
        "sends output 'OUT' as INT16; the configuration declares BYTES",
        "sends output 'UNKNOWN', which the configuration does not declare",
        "undefined name 'undefined_name'",
    } == found
