"""Specification of forged run files: no text of theirs steers a terminal or a page."""

import numpy as np
import pytest
from cells import CONFIG, cell
from run_files import chunks_of, file_of, json_of

from blsnb import MissingOutputError, load_run
from blsnb.views.documents import document
from blsnb.views.documents.wire import page_id
from blsnb.views.tree import tree

EVIL = "evil\x1b]0;title\x07\u202etxt"
X = {"X": np.array([1, 2], np.float32)}


SAYING = cell("""
pb_utils.Logger.log_info("said")
print("printed")
return [reply(x_of(request))]
""")


def controls(text):
    """Return the control characters of a text."""
    return sorted(set(text) & {"\x1b", "\x07", "\u202e"})


@pytest.fixture
def forged(server, tmp_path):
    """A run loaded from a file whose every text steers a terminal."""
    server.define("m", SAYING, config=CONFIG)
    run = server.infer("m", X, request_id="id", parameters={"key": "value"})
    run.save(tmp_path / "good.blsrun")
    whole = chunks_of((tmp_path / "good.blsrun").read_bytes())
    path = tmp_path / "forged.blsrun"
    path.write_bytes(
        file_of((each.type, evil(json_of(each)), each.body) for each in whole)
    )
    return load_run(path)


KEPT = {
    "datatype",
    "format",
    "kind",
    "backend",
    "hash",
    "level",
    "clock",
    "trace_level",
}


def evil(value, key=""):
    """Return what a chunk says with every text that a model chose replaced."""
    if isinstance(value, dict):
        return {name: evil(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [evil(each, key) for each in value]
    if isinstance(value, str) and value and key not in KEPT:
        return f"{EVIL}{value}"
    return value


def test_a_forged_run_prints_no_controls(forged, tmp_path):
    """Neither its reprs, trees, notes, comparisons and logs, nor a page made of it."""
    texts = [repr(forged), repr(forged.trace), str(forged.compare(forged))]
    texts += map(repr, forged.trace.spans)
    texts += [tree(forged.trace), *map(repr, forged.responses)]
    texts.append(document.page(forged.trace))
    texts.append(document.still(forged.trace))
    assert ["said", "printed"] == [
        line.text.removeprefix(EVIL).strip() for line in forged.trace.spans[0].logs
    ]
    with pytest.raises(MissingOutputError) as missing:
        forged[EVIL]
    texts.append(str(missing.value))

    assert [[]] * len(texts) == list(map(controls, texts))
    assert "evil␛]0;title␇⟨U+202E⟩txt" in repr(forged)


def test_a_forged_page_is_whole(forged):
    """Its script finds the place of the page by its id."""
    assert [] == controls(page_id(forged.trace))
