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
