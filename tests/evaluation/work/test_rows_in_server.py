"""The requests of rows on a server of this process."""

from __future__ import annotations

import pytest

from blsnb.errors import BlsnbError, InferenceError, InputError
from blsnb.evaluation.plain import EvaluationSettings
from blsnb.evaluation.work.rows_in_server import RowsInServer
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        (
            EvaluationSettings("double", options={"oops": 1}),
            InputError,
            r"^evaluate\(\) has no option 'oops'",
        ),
        (EvaluationSettings("nowhere"), InferenceError, "unknown model: 'nowhere'"),
    ],
    ids=["option", "model"],
)
def test_invalid_settings_are_refused(
    settings: EvaluationSettings, error: type[BlsnbError], text: str
) -> None:
    """No row is executed; the text names the method that the caller used."""
    with Server() as server, pytest.raises(error, match=text):
        RowsInServer(parts_of(server), settings)
