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


FORM = (
    'a JSON list of requests such as {"inputs": {"X": [1, 2], "IMAGE": {"npy": '
    '"image.npy"}}}'
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", f"PATH is not {FORM}: Expecting property name enclosed in double"),
        ("{}", f"PATH is not {FORM}"),
        ("[1]", f"PATH is not {FORM}"),
        (
            '[{"X": [1], "A": 1}]',
            f"case 1: unknown field 'A', 'X'; expected {FORM}",
        ),
        ('[{"name": "n"}]', f"n: inputs by name are missing; expected {FORM}"),
        (
            '[{"inputs": {"X": {"file": "x"}}}]',
            "PATH: input 'X' is an object with the keys ['file']; expected a value, or "
            '{"npy": "file.npy"} with a path relative to the file',
        ),
        (
            '[{"inputs": {"X": {"npy": 5}}}]',
            "PATH: input 'X' is an object with the keys ['npy']; expected a value, or ",
        ),
        (
            '[{"inputs": {"X": {"npy": "cases.json"}}}]',
            "PATH is not a .npy file of numbers: ",
        ),
    ],
)
def test_a_malformed_file_is_refused(tmp_path, text, words):
    """The error names the wrong part."""
    (tmp_path / "cases.json").write_text(text)
    with pytest.raises(InputError) as refused:
        requests_of("m", None, tmp_path / "cases.json", {})

    found = str(refused.value).replace(str(tmp_path / "cases.json"), "PATH")
    assert found.startswith(words)
    assert found == words or words.endswith((" ", "double"))


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
    text = r"^cases=5 is not valid; expected requests such as \{'inputs': \{'X': \[1, "
    with pytest.raises(InputError, match=text):
        requests_of("m", None, [5], {})
    with pytest.raises(InputError, match=r"^case 1: unknown field 'parameter';"):
        requests_of("m", {}, None, {"parameter": {}})
    with pytest.raises(FileNotFoundError):
        requests_of("m", None, "/nowhere/cases.json", {})
