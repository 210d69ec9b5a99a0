"""Specification of the ensemble that is equivalent to a BLS pipeline."""

from __future__ import annotations

import pytest

from blsnb.model.config import parse_pbtxt
from blsnb.model_graph.ensemble_proposal import NotAnEnsembleError, ensemble_config
from blsnb.model_graph.sources.source import Program, Source

CONFIG = parse_pbtxt("""
backend: "python"
max_batch_size: 4
input { name: "IN" data_type: TYPE_FP32 dims: 4 }
output { name: "OUT" data_type: TYPE_FP32 dims: 4 }
""")
MODEL = """
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "IN")
"""
HELPER = """    def warm_up(self):
        pb_utils.InferenceRequest(model_name="plus").exec()
"""
PLUS = """first = pb_utils.InferenceRequest(
    model_name="plus", requested_output_names=["Y", "Z"],
    inputs=[pb_utils.Tensor("X", x.as_numpy())]).exec()
"""
TIMES = """y = pb_utils.get_output_tensor_by_name(first, "Y")
second = pb_utils.InferenceRequest(
    model_name="times", requested_output_names=["OUT"],
    inputs=[pb_utils.Tensor("A", y.as_numpy()), x]).exec()
"""
FINAL = """out = pb_utils.get_output_tensor_by_name(second, "OUT")
responses.append(pb_utils.InferenceResponse([out]))
"""
PIPELINE = PLUS + TIMES + FINAL


def proposed(body, model=MODEL):
    text = model + "".join(f"            {line}\n" for line in body.splitlines())
    source = Source("model.py", text.encode(), Program(lambda _: None))
    return ensemble_config("e", CONFIG, source)


def test_each_call_is_a_step_in_the_order_of_the_pipeline():
    """Tensors between steps are named after model and output."""
    expected = """
    name: "e" platform: "ensemble" max_batch_size: 4
    input { name: "IN" data_type: TYPE_FP32 dims: 4 }
    output { name: "OUT" data_type: TYPE_FP32 dims: 4 }
    ensemble_scheduling {
      step {
        model_name: "plus" model_version: -1
        input_map { key: "X" value: "IN" }
        output_map { key: "Y" value: "plus_Y" }
        output_map { key: "Z" value: "plus_Z" }
      }
      step {
        model_name: "times" model_version: -1
        input_map { key: "A" value: "plus_Y" }
        input_map { key: "IN" value: "IN" }
        output_map { key: "OUT" value: "OUT" }
      }
    }
    """

    assert parse_pbtxt(expected).message == proposed(PIPELINE).message


def test_a_forwarded_response_names_the_outputs_of_its_call():
    """``output_tensors()`` sends each requested output under its own name."""
    body = PLUS + "responses.append(pb_utils.InferenceResponse(first.output_tensors()))"
    [step] = proposed(body).message.ensemble_scheduling.step

    assert {"Y": "Y", "Z": "Z"} == dict(step.output_map)


def test_a_response_with_an_error_is_not_the_result():
    """It has no outputs."""
    error = "responses.append(pb_utils.InferenceResponse(error=None))\n"

    assert proposed(PIPELINE).message == proposed(error + PIPELINE).message


REFUSED = {
    "no literal model": (
        PIPELINE.replace('"plus"', "request.request_id()"),
        "the name of the called model is not a literal (model.py:8)",
    ),
    "no model": (
        PIPELINE.replace('model_name="plus",', ""),
        "the name of the called model is not a literal (model.py:8)",
    ),
    "an unknown tensor": (
        PIPELINE.replace("), x]", "), x, y + 1]"),
        "the inputs of model 'times' are computed (model.py:12)",
    ),
    "no inputs": (
        PIPELINE.replace("inputs=[pb_utils.Tensor", "ignored=[pb_utils.Tensor", 1),
        "the inputs of model 'plus' are computed (model.py:8)",
    ),
    "an unknown output": (
        PIPELINE.replace('["Y", "Z"]', '["Y", request.request_id()]'),
        "the outputs of model 'plus' are not literals (model.py:8)",
    ),
    "no outputs": (
        PIPELINE.replace('requested_output_names=["Y", "Z"],', ""),
        "the outputs of model 'plus' are not literals (model.py:8)",
    ),
    "a computed input": (
        PIPELINE.replace("y.as_numpy()", "y.as_numpy() + 1"),
        "input 'A' of model 'times' is computed (model.py:12)",
    ),
    "an input of another type": (
        PIPELINE.replace("y.as_numpy()", "y.as_numpy().astype('float32')"),
        "input 'A' of model 'times' is computed (model.py:12)",
    ),
    "an output that was not requested": (
        PIPELINE.replace('["Y", "Z"]', '["Z"]'),
        "input 'A' of model 'times' is computed (model.py:12)",
    ),
    "a computed output": (
        PIPELINE.replace("[out]", '[pb_utils.Tensor("OUT", out.as_numpy() + 1)]'),
        "an output is computed (model.py:16)",
    ),
    "an input as output": (
        PIPELINE.replace("[out]", "[x]"),
        "an output is computed (model.py:16)",
    ),
    "an unknown value as output": (
        PIPELINE.replace("[out]", "[request]"),
        "an output is computed (model.py:16)",
    ),
    "the same model twice": (
        PIPELINE.replace('"times"', '"plus"'),
        "model 'plus' is called twice (model.py:12)",
    ),
    "a conditional call": (
        PIPELINE.replace("second = ", "second = first and "),
        "a BLS call depends on a condition (model.py:12)",
    ),
    "a call in a loop of its own": (
        "for attempt in range(3):\n"
        + "".join(f"    {line}\n" for line in PLUS.splitlines())
        + TIMES
        + FINAL,
        "a BLS call is in a loop (model.py:9)",
    ),
    "a call in a comprehension": (
        PIPELINE.replace("second = ", "second = [1 for _ in x] and ")
        .replace(
            'pb_utils.InferenceRequest(\n    model_name="plus"',
            '[pb_utils.InferenceRequest(\n    model_name="plus"',
        )
        .replace("as_numpy())]).exec()", "as_numpy())]).exec() for _ in 'ab'][0]", 1),
        "a BLS call is in a loop (model.py:8)",
    ),
    "a response in a loop of its own": (
        PLUS + TIMES + f"for part in x:\n    {FINAL}".replace("\nr", "\n    r"),
        "the response is in a loop (model.py:17)",
    ),
    "an output under two names": (
        PIPELINE.replace(
            "[out]",
            '[pb_utils.Tensor("A", out.as_numpy()), '
            'pb_utils.Tensor("B", out.as_numpy())]',
        ),
        "output 'OUT' of model 'times' is returned under two names, 'A' and 'B' "
        "(model.py:16)",
    ),
    "a conditional response": (
        PLUS + TIMES + FINAL.replace("responses.append", "first and responses.append"),
        "the response depends on a condition (model.py:16)",
    ),
    "no call": (
        "responses.append(pb_utils.InferenceResponse([x]))",
        "execute() makes no BLS call",
    ),
    "no response": (PLUS, "execute() makes no single response with outputs"),
    "two responses": (
        PIPELINE + "responses.append(pb_utils.InferenceResponse([y]))",
        "execute() makes no single response with outputs",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_pipeline_without_an_equivalent_ensemble_is_refused(case):
    """The message has the reason, and the line where there is one."""
    body, expected = REFUSED[case]
    with pytest.raises(NotAnEnsembleError) as raised:
        proposed(body)

    assert expected == str(raised.value)


@pytest.mark.parametrize(
    "loop", ["requests", "enumerate(requests)", "range(len(requests))"]
)
def test_a_loop_over_the_requests_is_no_condition(loop):
    """Each request runs each call once."""
    model = MODEL.replace("in requests:", f"in {loop}:")

    assert proposed(PIPELINE).message == proposed(PIPELINE, model).message


def test_a_comprehension_over_the_requests_is_no_condition():
    """It is a loop over them, too."""
    model = MODEL[: MODEL.index("        responses")]
    body = """return [pb_utils.InferenceResponse([
    pb_utils.get_output_tensor_by_name(pb_utils.InferenceRequest(
        model_name="plus", requested_output_names=["Y"],
        inputs=[pb_utils.get_input_tensor_by_name(request, "IN")]).exec(), "Y")])
    for request in requests]"""
    [step] = proposed(body, model).message.ensemble_scheduling.step

    assert {"Y": "Y"} == dict(step.output_map)


def test_a_loop_over_other_values_repeats_calls():
    """An ensemble runs each step once."""
    model = MODEL.replace("for request in requests:", "for request in range(3):")
    with pytest.raises(NotAnEnsembleError, match="a BLS call is in a loop"):
        proposed(PIPELINE, model)


def test_a_call_of_another_function_is_refused():
    """It may run at any time, or never."""
    helper = MODEL.replace("    def execute", f"{HELPER}    def execute")
    with pytest.raises(
        NotAnEnsembleError,
        match=r"^a BLS call is made outside of execute\(\) \(model.py:5\)$",
    ):
        proposed(PIPELINE, helper)


def test_a_source_has_one_execute():
    """Of two, the source does not say which one Triton calls."""
    two = MODEL.replace("class T", "def execute():\n    pass\nclass T")
    with pytest.raises(
        NotAnEnsembleError, match=r"^the source has no single execute\(\)$"
    ):
        proposed(PIPELINE, two)
