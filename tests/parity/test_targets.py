"""A comparison loads the compared model and all models that it may call."""

from __future__ import annotations

from blsnb.parity.targets import needed_models, texts_in

TEXTS = {
    "outer": "InferenceRequest(model_name='inner')",
    "inner": 'call("leaf")',
    "leaf": "# outer",
    "steps": 'step { model_name: "leaf" }',
    "other": "'inner'",
}


def test_a_quoted_model_name_is_a_possible_call():
    """The calls of the called model count, too."""
    assert ["inner", "leaf", "outer"] == needed_models(["outer"], TEXTS)
    assert ["leaf", "steps"] == needed_models(["steps"], TEXTS)


def test_called_models_are_needed_even_if_no_text_names_them():
    """Unknown names are ignored."""
    assert ["leaf"] == needed_models(["leaf", "gone"], TEXTS)
    assert ["inner", "leaf", "other"] == needed_models(["other"], TEXTS)


def test_models_may_name_each_other_and_themselves():
    """The search visits each model once."""
    assert ["a", "b"] == needed_models(["a"], {"a": "'b'", "b": "'a' 'b'"})


def test_only_text_files_are_searched(tmp_path):
    """Sources and configurations are read in every folder; weights are not."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "model.py").write_text("one")
    (tmp_path / "1" / "weights.bin").write_text("two")
    (tmp_path / "config.pbtxt").write_text("three")

    assert {"one", "three"} == set(texts_in(tmp_path).split())
