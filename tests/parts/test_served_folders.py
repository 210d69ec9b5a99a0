"""Exports of what serves, and the texts of models that do not."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE

from blsnb.errors import BlsnbError, ModelLoadError
from blsnb.parts.server_parts import parts_of


@pytest.fixture
def overridden(server):
    """A model that serves with another configuration than that of its folder."""
    server.define("double", DOUBLE, config=CONFIG)
    folder = parts_of(server).repository.directory("double").path
    (folder / "configs").mkdir()
    (folder / "configs" / "large.pbtxt").write_text(CONFIG)
    (folder / "1" / "__pycache__").mkdir()
    (folder / "1" / "__pycache__" / "model.pyc").write_text("")
    server.load("double", config={**server.config("double"), "max_batch_size": 3})
    return server


@pytest.mark.parametrize("names", [None, ["double"]])
def test_an_override_is_exported_as_it_serves(overridden, tmp_path, names):
    """Its source, and the configuration that was loaded; nothing that would differ."""
    exported = parts_of(overridden).folders.export_as_served(tmp_path / "to", names)
    files = [path.relative_to(tmp_path) for path in (tmp_path / "to").rglob("*/*")]

    assert ("double",) == exported.models
    assert {"to/double/1", "to/double/1/model.py", "to/double/config.pbtxt"} == {
        path.as_posix() for path in files
    }
    text = (tmp_path / "to" / "double" / "config.pbtxt").read_text(encoding="utf-8")
    assert "max_batch_size: 3" in text


def test_an_export_says_that_another_configuration_serves(overridden, tmp_path):
    """It contains the folder's."""
    exported = overridden.export_repository(tmp_path / "to")

    assert (
        "double: it serves with a configuration or files of its load() call, but its "
        "folder was exported"
    ) in exported.notes


def test_lines_of_a_model_that_does_not_serve_cannot_be_timed(server):
    """The error names the model."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", {"X": [1.0]})
    server.unload("double")

    with pytest.raises(BlsnbError) as refused:
        run.replay(lines=True)
    assert (
        "lines=True needs Python code: 'double' is not a loaded model with a model.py"
    ) == str(refused.value)


def test_a_model_that_never_loaded_has_no_state(server):
    """An edit of one that serves keeps its version; one that is removed has none."""
    with pytest.raises(ModelLoadError):
        server.define("double", "1 / 0", config=CONFIG)
    assert {} == parts_of(server).engine.catalog.states("double")

    server.define("double", DOUBLE, config=CONFIG)
    with pytest.raises(ModelLoadError):
        server.define("double", "1 / 0", config=CONFIG)
    assert "READY" == server.model("double").state

    server.remove("double")
    assert {} == parts_of(server).engine.catalog.states("double")


@pytest.mark.parametrize(
    ("config", "advice"),
    [
        (CONFIG, "It is loaded once it has double/1/model.py (%%triton_model double)."),
        ("input { name: 5 }", ""),
    ],
)
def test_a_model_without_its_file_is_told_what_it_lacks(server, config, advice):
    """Nothing is said of one whose configuration is invalid."""
    server.define("double", None, config=CONFIG)
    directory = parts_of(server).repository.directory("double")
    directory.config_file.write_text(config)

    assert advice == server.model("double").what_helps()
