"""Specification of %triton graph."""

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

    assert "UsageError: usage: %triton graph\n" == ran.stderr
