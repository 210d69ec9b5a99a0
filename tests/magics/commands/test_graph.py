"""Specification of %triton graph."""

import re

import pytest

from blsnb.views.format import time


def times(graph):
    """Return the own times as the drawing writes them."""
    return [time(us) for us in graph.measured.own_us.values()]


def test_models_of_cells_and_the_last_run_are_in_the_graph(notebook):
    """A cell's model has its cell as origin; a run adds counts and times."""
    notebook.run(
        "%%triton_model inner --input X:FP32[1] --output Y:FP32[1]\n"
        "import triton_python_backend_utils as pb_utils\n"
        "class TritonPythonModel:\n"
        "    def execute(self, requests):\n"
        "        return [pb_utils.InferenceResponse([pb_utils.Tensor('Y',\n"
        "            r.inputs()[0].as_numpy())]) for r in requests]\n"
    )
    notebook.run(
        "%%triton_model outer --input X:FP32[1] --output Y:FP32[1]\n"
        "import triton_python_backend_utils as pb_utils\n"
        "class TritonPythonModel:\n"
        "    def execute(self, requests):\n"
        "        return [pb_utils.InferenceResponse(pb_utils.InferenceRequest(\n"
        "            model_name='inner', inputs=r.inputs(),\n"
        "            requested_output_names=['Y']).exec().output_tensors())\n"
        "            for r in requests]\n"
    )
    notebook.run("import blsnb\nbefore = blsnb.server().graph()")
    notebook.run("run = blsnb.infer('outer', {'X': [1.0]})")
    [shown] = notebook.run("%triton graph").outputs

    assert notebook.shell.user_ns["before"].measured is None
    assert "outer -> inner" in shown["text/plain"]
    assert "<svg" in shown["text/html"]
    graph = notebook.shell.user_ns["blsnb"].server().graph()
    assert {"outer": 1, "inner": 1} == graph.measured.calls
    assert [True, True] == [each in shown["text/html"] for each in times(graph)]


def test_other_words_are_a_usage_error(notebook):
    """The subcommand takes no names."""
    ran = notebook.run("%triton graph outer")

    assert "unrecognized arguments: outer" in ran.stderr


CHILD = """%%triton_model {} --input X:FP32[1] --output Y:FP32[1]
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor(
            "Y", pb_utils.get_input_tensor_by_name(r, "X").as_numpy() {})])
            for r in requests]
"""
CHAIN = """%%triton_model chain --input IN:FP32[1] --output OUT:FP32[1]
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            given = pb_utils.get_input_tensor_by_name(request, "IN")
            first = pb_utils.InferenceRequest(
                model_name="plus", requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("X", given.as_numpy())]).exec()
            if first.has_error():
                raise pb_utils.TritonModelException(first.error().message())
            middle = pb_utils.get_output_tensor_by_name(first, "Y")
            second = pb_utils.InferenceRequest(
                model_name="times", requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("X", middle.as_numpy(){})]).exec()
            out = pb_utils.get_output_tensor_by_name(second, "Y")
            responses.append(pb_utils.InferenceResponse(
                output_tensors=[pb_utils.Tensor("OUT", out.as_numpy())]))
        return responses
"""


@pytest.fixture
def chain(notebook):
    """A notebook with a straight pipeline of two models."""
    notebook.run(CHILD.format("plus", "+ 1"))
    notebook.run(CHILD.format("times", "* 10"))
    notebook.run(CHAIN.format(""))
    notebook.run("import blsnb\nrun = blsnb.infer('chain', {'IN': [2.0]})")
    return notebook


def test_a_straight_pipeline_is_an_ensemble(chain):
    """Its configuration is printed; both agree on the inputs of the last run."""
    ran = chain.run("%triton graph --as ensemble chain")

    assert 'name: "chain_ensemble"' in ran.stdout
    last = ran.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"# On the inputs of the last run both agree in all outputs; chain took "
        r"\d+\.\d{3} ms, the ensemble \d+\.\d{3} ms\.",
        last,
    )
    assert [] == ran.outputs
    names = [each.name for each in chain.shell.user_ns["blsnb"].server().models()]
    assert ["chain", "plus", "times"] == names


def test_the_printed_configuration_is_a_model(chain):
    """It answers as the pipeline did."""
    text = chain.run("%triton graph --as ensemble chain").stdout
    chain.run("%%triton_config chain_ensemble\n" + text)
    chain.run("again = blsnb.infer('chain_ensemble', {'IN': [2.0]})")

    assert [30.0] == chain.shell.user_ns["again"]["OUT"].tolist()


def test_an_ensemble_that_differs_is_reported(chain):
    """The children changed between the two: the outputs are named."""
    chain.run(
        CHILD.format("times", "* 10 + next(numbers)").replace(
            "class", "import itertools\nnumbers = itertools.count()\nclass"
        )
    )
    ran = chain.run("%triton graph --as ensemble chain")

    *_, both, difference = ran.stdout.splitlines()
    assert both.startswith("# On the inputs of the last run both differ; chain took ")
    assert difference.startswith("# OUT: ")


def test_the_newest_run_is_compared(chain):
    """Also one that failed, which both repeat."""
    last = 'pb_utils.get_input_tensor_by_name(r, "X").as_numpy()[0]'
    chain.run(CHILD.format("times", f"* [1, 1, 1, 1][int({last})]"))
    chain.run("blsnb.infer('chain', {'IN': [5.0]})")
    ran = chain.run("%triton graph --as ensemble chain")

    assert "# chain failed: " in ran.stdout


def test_the_proposed_name_is_free(chain):
    """The ensemble is loaded beside all models to be compared."""
    for name in ("chain_ensemble", "chain_ensemble_2"):
        chain.run(CHILD.format(name, ""))
    ran = chain.run("%triton graph --as ensemble chain")

    assert 'name: "chain_ensemble_3"' in ran.stdout


def test_a_pipeline_that_computes_is_no_ensemble(chain):
    """The sentence names what and where."""
    chain.run(CHAIN.format(" + 1"))
    ran = chain.run("%triton graph --as ensemble chain")

    assert (
        "UsageError: No ensemble does what chain does: input 'X' of model 'times' is "
        "computed (model.py:13).\n"
    ) == ran.stderr


def test_without_a_run_nothing_is_compared(notebook):
    """The configuration is printed with what to do."""
    notebook.run(CHILD.format("plus", "+ 1"))
    notebook.run(CHILD.format("times", "* 10"))
    notebook.run(CHAIN.format(""))
    ran = notebook.run("%triton graph --as ensemble chain")

    last = "# Run chain once and repeat the command to compare both."
    assert last == ran.stdout.splitlines()[-1]
