"""Ensembles in a notebook: defined in cells, shown on cards, exported, imported."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter

from blsnb import ModelLoadError, Server
from blsnb.magics import default_server as default

MODEL = """%%triton_model {name} --input X:{type}[-1] --output Y:FP32[-1]
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        y = pb_utils.Tensor("Y", (x * {by}).astype(np.float32))
        return pb_utils.InferenceResponse([y])
"""
CHAIN = """%%triton_config chain
platform: "ensemble"
input { name: "EX" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "EY" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling {
  step {
    model_name: "double" model_version: -1
    input_map { key: "X" value: "EX" } output_map { key: "Y" value: "MIDDLE" }
  }
  step {
    model_name: "triple" model_version: -1
    input_map { key: "X" value: "MIDDLE" } output_map { key: "Y" value: "EY" }
  }
}
"""
DOUBLE = MODEL.format(name="double", type="FP32", by=2)
TRIPLE = MODEL.format(name="triple", type="FP32", by=3)
MISFIT = "inconsistent data type: TYPE_FP32 is inferred from model chain"


@pytest.fixture
def models(notebook):
    """A notebook with two models."""
    assert notebook.run(DOUBLE).error is None
    assert notebook.run(TRIPLE).error is None
    return notebook


def test_its_card_has_a_line_for_each_step(models):
    """Each line has the step's inputs and outputs."""
    [shown] = models.run(CHAIN).outputs
    text, page = shown["text/plain"], shown["text/html"]

    assert "chain version 1 READY  EX:FP32[-1] -> EY:FP32[-1]" in text
    assert ["  double: EX -> MIDDLE", "  triple: MIDDLE -> EY"] == text.splitlines()[1:]
    assert "<code>double: EX → MIDDLE</code>" in page
    run = default.server().infer("chain", {"EX": np.ones(2, np.float32)})
    assert [6, 6] == run["EY"].tolist()


def test_its_origin_is_the_cell_of_its_configuration(models):
    """It has no source that could name a cell."""
    [shown] = models.run(CHAIN).outputs

    assert f"from cell {models.cell()}" in shown["text/plain"]


def test_an_ensemble_that_does_not_fit_is_an_error_of_its_cell(models):
    """The error has Triton's text; the former ensemble still serves."""
    models.run(CHAIN)
    ran = models.run(CHAIN.replace('"Y" value: "MIDDLE"', '"Q" value: "MIDDLE"'))

    assert isinstance(ran.error, ModelLoadError)
    expected = (
        "in ensemble chain, ensemble tensor MIDDLE is mapped from non-existing output "
        "Q in model double"
    )
    assert expected in ran.report
    assert "Its outputs are: Y." in ran.report
    assert "chain version 1 READY" in ran.texts[-1]
    assert default.server().infer("chain", {"EX": np.ones(1, np.float32)})


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (
            '"double"',
            '"dobule"',
            "Did you mean 'double'? Models that are loaded: double, triple.",
        ),
        (
            'key: "X" value: "EX"',
            'key: "x" value: "EX"',
            "Did you mean 'X'? Its inputs are: X.",
        ),
    ],
)
def test_a_misspelled_name_in_an_ensemble_gets_advice(models, right, wrong, said):
    """The known names follow Triton's text."""
    ran = models.run(CHAIN.replace(right, wrong))

    assert isinstance(ran.error, ModelLoadError)
    assert said in ran.report


def test_the_cards_report_an_ensemble_unloaded_with_its_model(models):
    """Both cards report it until the ensemble fits again."""
    models.run(CHAIN)
    [shown] = models.run(MODEL.format(name="double", type="INT32", by=2)).outputs
    assert "double version 1 READY" in shown["text/plain"]
    assert "⚠ the ensemble 'chain' went down: in ensemble chain" in shown["text/plain"]
    assert MISFIT in shown["text/html"]
    ensemble = default.server().model("chain")
    assert "UNAVAILABLE" == ensemble.state
    [told] = ensemble.findings
    assert told.startswith("it went down when its model 'double' was loaded: ")

    [shown] = models.run(DOUBLE).outputs
    assert "⚠" not in shown["text/plain"]
    assert "READY" == default.server().model("chain").state


def test_unloading_a_model_reports_its_ensembles(models):
    """The ensemble's card names the model."""
    models.run(CHAIN)
    server = default.server()
    server.unload("triple")

    assert ("the ensemble 'chain' went down with it",) == server.model(
        "triple"
    ).findings
    assert ("it went down when its model 'triple' was unloaded",) == (
        server.model("chain").findings
    )
    [table] = models.run("%triton models").texts
    assert "unloaded · it went down when its model 'triple' was unloaded" in table


def test_an_ensemble_is_exported_and_imported(models, tmp_path):
    """Its version folder is empty, as Triton requires."""
    models.run(CHAIN)
    assert models.run(f"%triton export {tmp_path}").error is None
    assert (tmp_path / "chain" / "1").is_dir()
    with Server(model_repository=tmp_path, startup_models=["chain"]) as server:
        run = server.infer("chain", {"EX": np.ones(1, np.float32)})

        assert [6] == run["EY"].tolist()


def test_lines_about_models_know_ensembles(models):
    """Table, configuration and completion include ensembles."""
    models.run(CHAIN)
    [table] = models.run("%triton models").texts
    config = models.run("%triton config chain").stdout
    line = "%triton unload cha"
    with provisionalcompleter():
        found = [
            each.text for each in models.shell.Completer.completions(line, len(line))
        ]

    assert "EX:FP32[-1] → EY:FP32[-1]" in table
    assert 'model_name: "triple"' in config
    assert "chain" in found
