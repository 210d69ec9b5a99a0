"""The recorder beside OpenTelemetry: a real server that sends its spans here."""

from __future__ import annotations

import pytest
import waiting

from blsnb.watch.watch import receive, server_flags

from .production import BODIES, COMPLETE, serving, write_models

MODELS = {"sync": 2, "gathers": 3, "threads": 4}
"""Models, with the number of BLS calls that each makes for a request."""
pytestmark = [
    pytest.mark.triton_server,
    pytest.mark.timeout(180),  # A busy machine starts the real server slowly.
]


def test_calls_of_unmodified_models_are_below_their_request(
    recorded_env, tmp_path, monkeypatch
):
    """Also if the recorder leaves the request out; the models pass no trace on."""
    monkeypatch.setenv("BLSNB_RECORD", str(tmp_path / "recording"))
    monkeypatch.setenv("BLSNB_RECORDER_RATE", "0")
    bodies = {name: BODIES[name] for name in ("double", *MODELS)}
    repository = write_models(tmp_path / "models", bodies)
    with receive(port=0) as watch:
        assert watch.receiver is not None
        flags = [*server_flags(watch.receiver.url()), *COMPLETE]
        log = tmp_path / "log"
        with serving(recorded_env, repository, log, tuple(bodies), flags) as running:
            for model in MODELS:
                running.infer(model, 3, id=model)

            def calls() -> dict[str, int]:
                return {
                    each.request_id: each.calls - 1
                    for each in watch.requests
                    if each.is_complete
                }

            assert waiting.until(lambda: len(calls()) >= len(MODELS))
            # The children of a request may arrive after it.
            waiting.until(lambda: calls() == MODELS)
            assert calls() == MODELS
