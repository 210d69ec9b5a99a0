"""One line about a model."""

from __future__ import annotations

from blsnb.repository.status import ModelStatus


def test_a_status_is_one_line():
    """Name, versions, state, inputs and outputs, time."""
    flow = (("X:FP32[-1]",), ("Y:FP32[-1]", "Z:INT8[2]"))
    status = ModelStatus("model", (1, 3), "READY", "", *flow, 0, 1, 0.0123)

    assert (
        "<model version 1,3 READY: X:FP32[-1] -> Y:FP32[-1], Z:INT8[2], "
        "loaded in 12.3 ms>"
    ) == repr(status)


def test_a_model_that_was_not_loaded_has_no_version_and_no_time():
    """The version is a dash."""
    status = ModelStatus("model", (), "not loaded", "", (), (), 0, 0, 0)

    assert "<model version - not loaded>" == repr(status)
