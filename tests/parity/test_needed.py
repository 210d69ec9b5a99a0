"""Which models a comparison needs: the one that is asked, and those it may ask."""

from __future__ import annotations

from blsnb.parity.needed import needed, texts_in

TEXTS = {
    "outer": "InferenceRequest(model_name='inner')",
    "inner": 'call("leaf")',
    "leaf": "# outer",
    "steps": 'step { model_name: "leaf" }',
    "other": "'inner'",
}


def test_a_model_that_is_named_in_quotes_is_needed():
    """And those that it names in turn."""
    assert ["inner", "leaf", "outer"] == needed(["outer"], TEXTS)
    assert ["leaf", "steps"] == needed(["steps"], TEXTS)


def test_what_was_called_is_needed_however_it_was_named():
    """What is no model is not."""
    assert ["leaf"] == needed(["leaf", "gone"], TEXTS)
    assert ["inner", "leaf", "other"] == needed(["other"], TEXTS)


def test_a_circle_of_names_ends():
    """A model may name itself."""
    assert ["a", "b"] == needed(["a"], {"a": "'b'", "b": "'a' 'b'"})


def test_sources_and_configurations_are_read_but_no_weights(tmp_path):
    """Whatever their folder."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "model.py").write_text("one")
    (tmp_path / "1" / "weights.bin").write_text("two")
    (tmp_path / "config.pbtxt").write_text("three")

    assert {"one", "three"} == set(texts_in(tmp_path).split())
