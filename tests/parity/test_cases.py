"""The requests of a comparison: from Python, or from a JSON file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from blsnb.errors import InputError
from blsnb.parity.cases import requests_of


def test_inputs_are_the_first_case():
    """Each case has a name; its own options override the common ones."""
    requests = requests_of(
        "m",
        {"X": 1},
        [{"name": "two", "inputs": {"X": 2}, "priority": 3}, {"inputs": {}}],
        {"priority": 1, "request_id": "r"},
    )

    assert ["case 1", "two", "case 3"] == [each.name for each in requests]
    assert [1, 3, 1] == [each.request.fields.priority for each in requests]
    assert {"r"} == {each.request.fields.request_id for each in requests}
    assert [{"X": 1}, {"X": 2}, {}] == [each.request.inputs for each in requests]


def test_a_file_contains_values_and_paths_of_arrays(tmp_path):
    """Paths are relative to the file."""
    np.save(tmp_path / "image.npy", np.uint8([[1, 2]]))
    cases = [{"inputs": {"IMAGE": {"npy": "image.npy"}, "X": [1]}, "outputs": ["Y"]}]
    (tmp_path / "cases.json").write_text(json.dumps(cases))

    [request] = requests_of("m", None, str(tmp_path / "cases.json"), {})
    assert [[1, 2]] == request.request.inputs["IMAGE"].tolist()
    assert ([1], ["Y"]) == (request.request.inputs["X"], request.request.outputs)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not a JSON list of requests such as"),
        ("{}", "is not a JSON list of requests such as"),
        ("[1]", "is not a JSON list of requests such as"),
        ('[{"X": [1]}]', "case 1: unknown field 'X'; expected a JSON list"),
        ('[{"name": "n"}]', "n: inputs by name are missing; expected a JSON list"),
        (
            '[{"inputs": {"X": {"file": "x"}}}]',
            "input 'X' is an object with the keys ['file']; expected a value",
        ),
        ('[{"inputs": {"X": {"npy": "cases.json"}}}]', "is not a .npy file of numbers"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path, text, words):
    """The error names the wrong part."""
    (tmp_path / "cases.json").write_text(text)
    with pytest.raises(InputError) as refused:
        requests_of("m", None, tmp_path / "cases.json", {})

    assert words in str(refused.value)


def test_pickles_are_refused(tmp_path):
    """Reading one could run anything."""
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "cases.json").write_text('[{"inputs": {"X": {"npy": "x.npy"}}}]')

    with pytest.raises(InputError, match=r"is not a \.npy file of numbers"):
        requests_of("m", None, tmp_path / "cases.json", {})


def test_an_archive_named_npy_is_refused(tmp_path):
    """It may contain several arrays; NumPy's own loader would return them all."""
    with (tmp_path / "x.npy").open("wb") as opened:
        np.savez(opened, a=np.zeros(3), b=np.ones(3))
    (tmp_path / "cases.json").write_text('[{"inputs": {"X": {"npy": "x.npy"}}}]')

    with pytest.raises(InputError, match=r"x\.npy is not a \.npy file of numbers"):
        requests_of("m", None, tmp_path / "cases.json", {})


def test_missing_requests_unknown_fields_and_missing_files_are_refused():
    """Each error names what is wrong."""
    with pytest.raises(
        InputError, match=r"there is no request to compare: pass inputs or cases$"
    ):
        requests_of("m", None, [], {})
    with pytest.raises(InputError, match="unknown field 'parameter'"):
        requests_of("m", {}, None, {"parameter": {}})
    with pytest.raises(FileNotFoundError):
        requests_of("m", None, "/nowhere/cases.json", {})
