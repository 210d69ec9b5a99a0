"""A model is a value."""

import dataclasses

import pytest

from blsnb.model.model import Model, ModelVersion


def test_a_model_needs_a_name_only() -> None:
    """Without configuration there is None, and no text."""
    model = Model("m")

    assert (None, "", {}) == (model.config, model.config_text, model.versions)


def test_models_are_equal_by_contents_and_frozen() -> None:
    """Two models of the same text are the same; neither can be edited."""
    version = ModelVersion("source", {"weights.bin": b"\0"})

    assert Model("m", versions={1: version}) == Model("m", versions={1: version})
    with pytest.raises(dataclasses.FrozenInstanceError):
        version.source = "other"  # type: ignore[misc]
