"""Specification of the findings on the card of a cell's model."""

from model_graph.test_source_checks import MODEL


def test_the_card_of_a_cell_has_the_findings_with_its_lines(notebook):
    """After READY; the model serves."""
    ran = notebook.run(
        "%%triton_model m --input X:FP32[4] --output Y:FP32[4]\n"
        + MODEL.format("responses.append(np.abs(answer))")
    )

    [shown] = ran.outputs
    assert "m version 1 READY" in shown["text/plain"]
    assert "line 10 (model.py:9): undefined name 'answer'" in shown["text/plain"]


def test_a_load_that_fails_for_a_signature_says_which_one_fits(notebook):
    """A model without a valid initialize() does not load, and has no card."""
    ran = notebook.run(
        "%%triton_model m\nclass TritonPythonModel:\n"
        "    def initialize(self):\n        pass\n"
    )

    expected = "Triton calls initialize(args). Write def initialize(self, args)."
    assert expected in ran.report


def test_a_request_that_fails_for_a_signature_says_which_one_fits(notebook):
    """The finding of the card is repeated where the request fails."""
    notebook.run(
        "%%triton_model m --input X:FP32[4] --output Y:FP32[4]\n"
        "class TritonPythonModel:\n    def execute(self):\n        return []\n"
    )
    ran = notebook.run(
        "import blsnb, numpy as np\nblsnb.infer('m', {'X': np.zeros(4, 'f4')})"
    )

    expected = "Triton calls execute(requests). Write def execute(self, requests)."
    assert expected in ran.report
