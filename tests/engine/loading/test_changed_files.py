"""Changed files reload models: watched, polled, before each cell."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, TRIPLE, cell

from blsnb import InferenceError, ModelLoadError, Server
from blsnb.parts.server_parts import parts_of

X = {"X": np.array([1, 2], np.float32)}
REFUSED = "explicit model load / unload is not allowed if polling is enabled"


def put(folder: Path, name: str, source: str = DOUBLE, config: str = CONFIG) -> Path:
    """Write a model to disk with a later modification time."""
    model = folder / name / "1" / "model.py"
    model.parent.mkdir(parents=True, exist_ok=True)
    before = max((p.stat().st_mtime_ns for p in model.parents[1].rglob("*")), default=0)
    model.write_text(source)
    (folder / name / "config.pbtxt").write_text(config)
    os.utime(model, ns=(before + 1_000_000_000,) * 2)
    return model


def answer(server: Server, name: str = "m") -> list[float]:
    """Return a model's response to ``[1, 2]``."""
    return server.infer(name, X)["Y"].tolist()


def logged(server: Server) -> list[str]:
    """Return the log of the models, by level and first line."""
    lines = server.log.lines
    return [f"{each.level} {each.text.splitlines()[0]}" for each in lines]


class Quiet:
    """A server that polls only when a test calls for it."""

    @pytest.fixture(autouse=True)
    def still(self, monkeypatch):
        """Stop the polling threads."""
        monkeypatch.setattr(
            "blsnb.engine.threads.watcher.Watcher.start", lambda self: None
        )


class TestWatch(Quiet):
    """``%triton load NAME --watch``."""

    @pytest.fixture
    def watching(self, server, tmp_path):
        """A server that watches a model on disk."""
        put(tmp_path, "m")
        server.import_repository(tmp_path)
        server.watch("m")
        assert ["m"] == server.watched
        return server

    def look(self, server, times=2):
        """Poll twice, since a change must be seen twice."""
        for _ in range(times):
            parts_of(server).changed_files.look()

    def test_a_saved_model_is_loaded_anew(self, watching, tmp_path):
        """It is loaded once its files no longer change."""
        put(tmp_path, "m", TRIPLE)
        self.look(watching, 1)
        assert [2, 4] == answer(watching)
        self.look(watching, 1)
        assert [3, 6] == answer(watching)
        assert ["INFO m was reloaded"] == logged(watching)

    def test_an_unchanged_model_is_left_alone(self, watching):
        """Its state is kept."""
        self.look(watching, 4)
        assert [] == logged(watching)

    def test_a_save_that_does_not_load_loses_nothing(self, watching, tmp_path):
        """The former version still serves; each save is tried once."""
        put(tmp_path, "m", "1 / 0")
        self.look(watching, 6)
        assert [2, 4] == answer(watching)
        (line,) = logged(watching)
        assert line.startswith(
            "ERROR m did not load after a change: Internal: ZeroDivisionError"
        )

        put(tmp_path, "m", TRIPLE)
        self.look(watching)
        assert [3, 6] == answer(watching)

    @pytest.mark.parametrize("text", ["max_batch_size: {", "\ufffe"])
    def test_a_broken_configuration_loses_nothing(self, watching, tmp_path, text):
        """Triton's text is logged."""
        put(tmp_path, "m", config=text)
        self.look(watching)

        assert [2, 4] == answer(watching)
        assert "failed to read text proto" in logged(watching)[0]

    def test_a_helper_file_is_part_of_the_model(self, watching, tmp_path):
        """Any file of the model's folder counts."""
        source = "import helper\n" + cell("return [reply(x_of(request) * helper.F)]")
        helper = put(tmp_path, "m", source).with_name("helper.py")
        helper.write_text("F = 5")
        self.look(watching)
        assert [5, 10] == answer(watching)

        helper.write_text("F = 7.5")
        self.look(watching)
        assert [7.5, 15] == answer(watching)

    def test_a_missing_folder_ends_no_service(self, watching, tmp_path):
        """The folder may be restored."""
        (tmp_path / "m").rename(tmp_path / "away")
        self.look(watching)
        assert [2, 4] == answer(watching)

    @pytest.mark.parametrize("end", ["unload", "unwatch"])
    def test_watching_ends(self, watching, tmp_path, end):
        """It ends with the model, or with `unwatch`."""
        getattr(watching, end)("m")
        put(tmp_path, "m", TRIPLE)
        self.look(watching)

        assert [] == watching.watched
        assert [] == logged(watching)

    def test_only_ready_models_can_be_watched(self, server):
        """The error has Triton's text."""
        with pytest.raises(InferenceError, match="'m' is not found"):
            server.watch("m")

    def test_a_model_that_writes_while_it_loads_is_loaded_once(self, server, tmp_path):
        """Its own files do not count as saved."""
        methods = """
        def __init__(self):
            with open(__file__ + ".log", "a") as log:
                log.write("x")

        """
        put(tmp_path, "m", cell("pass", methods=methods))
        server.import_repository(tmp_path)
        server.watch("m")
        self.look(server, 4)
        assert [] == logged(server)

        put(tmp_path, "m", cell("pass", methods=methods) + "\n")
        self.look(server, 8)
        assert ["INFO m was reloaded"] == logged(server)


def test_a_watching_server_ends_its_thread(tmp_path):
    """Closing the server ends polling."""
    put(tmp_path, "m")
    with Server(model_repository=tmp_path, startup_models="m") as server:
        server.watch("m")
        server.watch("m")
        put(
            tmp_path,
            "m",
            cell(
                'stage.events["new"].set()',
                methods="""
        def initialize(self, args):
            stage.events["loaded"].set()

        """,
            ),
        )
        assert stage.events["loaded"].wait(60)
        names = [thread.name for thread in threading.enumerate()]
        assert 1 == names.count("blsnb watch")
    assert "blsnb watch" not in [thread.name for thread in threading.enumerate()]


class TestPoll(Quiet):
    """``model_control_mode="poll"``."""

    @pytest.fixture
    def polling(self, tmp_path):
        """A polling server with a model ``m``."""
        put(tmp_path / "models", "m")
        with Server(
            model_repository=tmp_path / "models", model_control_mode="poll"
        ) as server:
            yield server
        stage.clear()

    def poll(self, server):
        """Poll once."""
        parts_of(server).changed_files.poll_once()

    def test_existing_models_serve(self, polling, tmp_path):
        """Added models serve after the next poll."""
        assert [2, 4] == answer(polling)
        put(tmp_path / "models", "n", TRIPLE)
        self.poll(polling)
        assert [3, 6] == answer(polling, "n")

    def test_removed_models_are_unloaded(self, polling, tmp_path):
        """Their requests fail with Triton's text."""
        shutil.rmtree(tmp_path / "models" / "m")
        self.poll(polling)

        with pytest.raises(InferenceError, match="'m' has no available versions"):
            answer(polling)
        assert [] == polling.index()

    def test_changed_models_are_reloaded(self, polling, tmp_path):
        """Unchanged models are not."""
        self.poll(polling)
        assert [] == logged(polling)
        put(tmp_path / "models", "m", TRIPLE)
        self.poll(polling)
        assert [3, 6] == answer(polling)

    @pytest.mark.parametrize(
        ("source", "config"), [("1 / 0", CONFIG), (DOUBLE, "max_batch_size: {")]
    )
    def test_an_error_keeps_the_running_copy(self, polling, tmp_path, source, config):
        """The load is tried again at each poll, as on Triton."""
        put(tmp_path / "models", "m", source, config)
        self.poll(polling)
        self.poll(polling)

        assert [2, 4] == answer(polling)
        assert 2 == len(logged(polling))
        put(tmp_path / "models", "m", TRIPLE)
        self.poll(polling)
        assert [3, 6] == answer(polling)

    def test_a_second_folder_of_the_same_name_is_ignored(self, polling, tmp_path):
        """The former version still serves."""
        put(tmp_path / "more", "m", TRIPLE)
        put(tmp_path / "more", "n", TRIPLE)
        parts_of(polling).repository.add(tmp_path / "more")
        self.poll(polling)

        assert [2, 4] == answer(polling)
        assert [3, 6] == answer(polling, "n")

    def test_a_model_can_be_defined_in_poll_mode(self, polling):
        """A cell is not a load call; incomplete models are ignored."""
        polling.define("mine", TRIPLE, config=CONFIG)
        parts_of(polling).models.change("begun", {"1/helper.py": ""})
        self.poll(polling)

        assert [3, 6] == answer(polling, "mine")
        assert [] == logged(polling)

    def test_models_cannot_load_either(self, polling):
        """They receive the server's text in a TritonModelException."""
        source = cell(
            """
            for action in (pb_utils.load_model, pb_utils.unload_model):
                try:
                    action("m")
                except pb_utils.TritonModelException as error:
                    stage.seen.append(str(error))
            return [reply(x_of(request))]
            """
        )
        polling.define("asking", source, config=CONFIG)
        answer(polling, "asking")

        assert 2 == len(stage.seen)
        assert every(text.endswith(REFUSED) for text in stage.seen)


def test_a_polling_server_polls_on_a_thread(tmp_path):
    """Closing the server ends it."""
    put(tmp_path, "m")
    with Server(
        model_repository=tmp_path, model_control_mode="poll", repository_poll_s=0.01
    ):
        methods = 'def initialize(self, args):\n    stage.events["loaded"].set()\n\n'
        put(tmp_path, "n", cell("pass", methods=methods))
        assert stage.events["loaded"].wait(60)
    assert "blsnb poll" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("mode", ["none", "poll"])
def test_models_cannot_be_loaded_by_name(tmp_path, mode):
    """Neither load nor unload works, whether the model exists or not."""
    put(tmp_path, "m")
    with Server(model_repository=tmp_path, model_control_mode=mode) as server:
        for ask in (server.load, server.unload):
            for name in ("m", "nowhere"):
                with pytest.raises(ModelLoadError) as caught:
                    ask(name)
                assert (REFUSED, "UNAVAILABLE") == (
                    caught.value.message,
                    caught.value.code,
                )
                advice = 'Make the server with model_control_mode="explicit".'
                assert advice == caught.value.advice
        assert [2, 4] == answer(server)


class TestBeforeEachCell:
    """Changes in the private folder by another program."""

    @pytest.fixture
    def defined(self, server):
        """A server with a defined model, and one without a file."""
        server.define("m", DOUBLE, config=CONFIG, files={"weights": "1"})
        parts_of(server).models.change("begun", {"1/helper.py": ""})
        assert {} == parts_of(server).folders.load_changed()
        return server

    def place(self, server):
        """Return the folder of the models."""
        return parts_of(server).repository.private_root

    def test_a_changed_source_is_loaded(self, defined):
        """It is loaded once."""
        put(self.place(defined), "m", TRIPLE)

        assert {"m": None} == parts_of(defined).folders.load_changed()
        assert [3, 6] == answer(defined)
        assert {} == parts_of(defined).folders.load_changed()

    def test_a_failed_reload_is_reported_once(self, defined):
        """The former version still serves, and the next change is tried."""
        put(self.place(defined), "m", "1 / 0")

        assert "ZeroDivisionError" in str(parts_of(defined).folders.load_changed()["m"])
        assert {} == parts_of(defined).folders.load_changed()
        assert [2, 4] == answer(defined)
        put(self.place(defined), "m", TRIPLE)
        assert {"m": None} == parts_of(defined).folders.load_changed()

    def test_only_sources_count(self, defined):
        """Only Python files and configurations are sources."""
        (self.place(defined) / "m" / "1" / "weights").write_text("22")
        (self.place(defined) / "m" / "1" / "log").write_text("22")
        assert {} == parts_of(defined).folders.load_changed()

        (self.place(defined) / "m" / "config.pbtxt").write_text(
            CONFIG.replace("-1", "2")
        )
        assert {"m": None} == parts_of(defined).folders.load_changed()

    def test_a_file_that_a_cell_wrote_is_not_a_change(self, defined):
        """It was loaded when it was written."""
        defined.define("m", TRIPLE)
        assert {} == parts_of(defined).folders.load_changed()

    def test_an_unloaded_model_stays_unloaded(self, defined):
        """The user unloaded it."""
        defined.unload("m")
        put(self.place(defined), "m", TRIPLE)
        assert {} == parts_of(defined).folders.load_changed()
