"""Specification of the checks of a model's source that need no run."""

import json
from pathlib import Path

import pytest

from blsnb.model_graph.source import Program, Source
from blsnb.model_graph.source_checks import check_model, name_findings
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

    assert count == len(found)
    assert count == sum("never sends the final flag" in each for each in found)


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
    assert [("02_errors.ipynb", "m (model.py:6): undefined name 'np'")] == found


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
