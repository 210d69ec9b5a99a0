"""The requests of a comparison: from Python, or from a JSON file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from blsnb.errors import InputError
from blsnb.parity.cases import asked_of


def test_inputs_come_first_and_cases_after_them():
    """Each with a name; what all have, a case may have of its own."""
    asked = asked_of(
        "m",
        {"X": 1},
        [{"name": "two", "inputs": {"X": 2}, "priority": 3}, {"inputs": {}}],
        {"priority": 1, "request_id": "r"},
    )

    assert ["case 1", "two", "case 3"] == [each.name for each in asked]
    assert [1, 3, 1] == [each.request.fields.priority for each in asked]
    assert {"r"} == {each.request.fields.request_id for each in asked}
    assert [{"X": 1}, {"X": 2}, {}] == [each.request.inputs for each in asked]


def test_a_file_has_values_and_arrays_beside_it(tmp_path):
    """Paths are relative to the file."""
    np.save(tmp_path / "image.npy", np.uint8([[1, 2]]))
    cases = [{"inputs": {"IMAGE": {"npy": "image.npy"}, "X": [1]}, "outputs": ["Y"]}]
    (tmp_path / "cases.json").write_text(json.dumps(cases))

    [asked] = asked_of("m", None, str(tmp_path / "cases.json"), {})
    assert [[1, 2]] == asked.request.inputs["IMAGE"].tolist()
    assert ([1], ["Y"]) == (asked.request.inputs["X"], asked.request.outputs)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not a JSON list of requests such as"),
        ("{}", "is not a JSON list of requests such as"),
        ("[1]", "is not a JSON list of requests such as"),
        ('[{"X": [1]}]', "case 1: a request has no 'X'; the form is"),
        ('[{"name": "n"}]', "n: a request has inputs by name"),
        ('[{"inputs": {"X": {"file": "x"}}}]', "input 'X' is a value, or"),
        ('[{"inputs": {"X": {"npy": "cases.json"}}}]', "is no .npy file of numbers"),
    ],
)
def test_a_file_of_another_form_is_refused_by_what_is_wrong(tmp_path, text, words):
    """And nothing is asked."""
    (tmp_path / "cases.json").write_text(text)
    with pytest.raises(InputError) as refused:
        asked_of("m", None, tmp_path / "cases.json", {})

    assert words in str(refused.value)


def test_a_pickle_is_never_read(tmp_path):
    """It could do anything."""
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "cases.json").write_text('[{"inputs": {"X": {"npy": "x.npy"}}}]')

    with pytest.raises(InputError, match=r"is no \.npy file of numbers"):
        asked_of("m", None, tmp_path / "cases.json", {})


def test_nothing_to_ask_and_a_file_that_is_not_there():
    """Both are told."""
    with pytest.raises(InputError, match="nothing to ask"):
        asked_of("m", None, [], {})
    with pytest.raises(InputError, match="a request has no 'parameter'"):
        asked_of("m", {}, None, {"parameter": {}})
    with pytest.raises(FileNotFoundError):
        asked_of("m", None, "/nowhere/cases.json", {})
