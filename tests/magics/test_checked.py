"""Specification of the findings on the card of a cell's model."""

import re

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


def test_further_findings_are_counted(notebook):
    """Eight are shown, the first of an import."""
    names = [f"n{number}" for number in range(10)]
    ran = notebook.run(
        "%%triton_model m --input X:FP32[4] --output Y:FP32[4]\n"
        + MODEL.format("; ".join(names))
    )
    shown = ran.outputs[0]["text/plain"]

    assert names[:7] == re.findall("undefined name '(.*)'", shown)
    assert shown.endswith("and 3 more findings")


def test_a_finding_in_another_cell_names_that_cell(notebook):
    """The card of a configuration or a helper points to the cell of the model."""
    notebook.run(
        "%%triton_model m --input X:FP32[4] --output Y:FP32[4]\n"
        + MODEL.format("responses.append(helped)")
    )
    model = notebook.cell()
    cards = [
        notebook.run(cell).texts[0]
        for cell in (CONFIG, "%%triton_file m/1/helper.py\nimport os")
    ]
    expected = f"cell {model} line 10 (model.py:9): undefined name 'helped'"

    assert [True, True] == [expected in card for card in cards]
    assert f"{notebook.cell()} line 2 (helper.py:1): 'os' imported but" in cards[1]


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


CONFIG = """%%triton_config m

backend: "python"
input [ { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]
parameters {
  key: "size"
}
dynamic_batching { }
"""
BATCHING = (
    "cell In[{}] line 9 (config.pbtxt:8): dynamic_batching has no effect while "
    "max_batch_size is 0: every request is executed alone"
)
PARAMETER = (
    "cell In[{}] line 6 (config.pbtxt:5): the parameter 'size' has no string_value, "
    "so its text is empty"
)


def test_the_card_of_a_configuration_has_the_lines_of_its_findings(notebook):
    """When its cell runs, before the model is written and after."""
    first = notebook.run(CONFIG)
    cells = [notebook.cell()]
    notebook.run("%%triton_model m\n" + MODEL.format("pass"))
    second = notebook.run(CONFIG)
    cells.append(notebook.cell())
    found = [
        [line.removeprefix("⚠ ") for line in ran.texts[0].splitlines() if "⚠" in line]
        for ran in (first, second)
    ]
    numbers = [name.strip("In[]") for name in cells]
    expected = [[text.format(n) for text in (BATCHING, PARAMETER)] for n in numbers]

    assert expected == [each[:2] for each in found]
    assert 0 == sum(each.count("dynamic_batching") for each in found[1][2:])
