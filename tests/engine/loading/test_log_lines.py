"""Lines of the server's log about loads, as Triton writes them."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE

from blsnb import Server
from blsnb.errors import ModelLoadError

WRONG = "'max_batch_size' must be non-negative value"


@pytest.fixture
def lines(caplog):
    """Returns the lines since the last call, each with its severity."""
    caplog.set_level("INFO", "blsnb.server")

    def taken():
        found = [
            f"{each.triton_severity} {each.getMessage()}"
            for each in caplog.records
            if each.name == "blsnb.server"
        ]
        caplog.clear()
        return found

    return taken


def test_loads_and_unloads_are_logged(server, lines):
    """A reload unloads its former version."""
    server.define("m", DOUBLE, config=CONFIG)
    assert [
        "I loading: m:1",
        "I TRITONBACKEND_ModelInstanceInitialize: m_0 (CPU device 0)",
        "I successfully loaded 'm'",
    ] == lines()
    server.define("m", DOUBLE + "\n", config=CONFIG)
    assert [
        "I loading: m:1",
        "I TRITONBACKEND_ModelInstanceInitialize: m_0 (CPU device 0)",
        "I successfully loaded 'm'",
        "I successfully unloaded 'm' version 1",
    ] == lines()
    server.unload("m")
    assert ["I successfully unloaded 'm' version 1"] == lines()


def test_a_failed_load_is_logged_with_the_reason_of_its_version(server, lines):
    """The last line names the model."""
    with pytest.raises(ModelLoadError):
        server.define("m", "1 / 0", config=CONFIG)

    loading, failed, last = lines()
    begin = "E failed to load 'm' version 1: Internal: ZeroDivisionError: division by"
    assert ("I loading: m:1", "I failed to load 'm'") == (loading, last)
    assert failed.startswith(begin)


def test_a_folder_that_is_not_polled_is_logged(server, lines):
    """The client gets no reason."""
    with pytest.raises(ModelLoadError):
        server.define("m", DOUBLE, config=CONFIG + "max_batch_size: -1")

    [line] = lines()
    assert f"E Poll failed for model directory 'm': {WRONG} for m" == line


def test_a_model_that_cannot_be_loaded_is_logged_with_its_code(tmp_path, lines):
    """One has no version, one is an ensemble of a missing model."""
    step = 'step { model_name: "none" input_map { key: "X" value: "X" } '
    step += 'output_map { key: "Y" value: "Y" } }'
    tensors = CONFIG
    for name, config in (
        (
            "m",
            CONFIG
            + 'backend: "python"'
            + "version_policy { specific { versions: 2 } }",
        ),
        ("e", f'{tensors} platform: "ensemble" ensemble_scheduling {{ {step} }}'),
    ):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "config.pbtxt").write_text(config, encoding="utf-8")
    with Server(model_repository=tmp_path) as server:
        for name, text in (
            (
                "m",
                "at least one version must be available under the version policy of "
                "model 'm'",
            ),
            (
                "e",
                "ensemble e contains models that are not available or ambiguous: none",
            ),
        ):
            with pytest.raises(ModelLoadError):
                server.load(name)
            assert [f"E Invalid argument: {text}"] == lines()


def test_a_failed_startup_is_logged_if_the_server_starts_nevertheless(tmp_path, lines):
    """The line has the code of the error with which it would exit."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.py").write_text("1 / 0", encoding="utf-8")
    with Server(model_repository=tmp_path, startup_models="*", exit_on_error=False):
        pass

    text = "E Invalid argument: load failed for model 'm': version 1 is at UNAVAILABLE"
    assert [text] == [each[: len(text)] for each in lines()[-1:]]
