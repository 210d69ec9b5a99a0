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
    """Write a model to disk, newer than what was there."""
    model = folder / name / "1" / "model.py"
    model.parent.mkdir(parents=True, exist_ok=True)
    before = max((p.stat().st_mtime_ns for p in model.parents[1].rglob("*")), default=0)
    model.write_text(source)
    (folder / name / "config.pbtxt").write_text(config)
    os.utime(model, ns=(before + 1_000_000_000,) * 2)
    return model


def answer(server: Server, name: str = "m") -> list[float]:
    """What a model says to ``[1, 2]``."""
    return server.infer(name, X)["Y"].tolist()


def logged(server: Server) -> list[str]:
    """What was logged of the models, by level and first line."""
    return [f"{level} {text.splitlines()[0]}" for _, level, text in server.log.lines]


class Quiet:
    """A server whose threads look only when a test says so."""

    @pytest.fixture(autouse=True)
    def still(self, monkeypatch):
        """Let no thread look by itself."""
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
        """Look: a change must be seen twice."""
        for _ in range(times):
            parts_of(server).changed_files.look()

    def test_a_saved_model_is_loaded_anew(self, watching, tmp_path):
        """When its files are still."""
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
        """The last good version serves on; the next save tries again, once each."""
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
        """It is logged as what Triton logs."""
        put(tmp_path, "m", config=text)
        self.look(watching)

        assert [2, 4] == answer(watching)
        assert "failed to read text proto" in logged(watching)[0]

    def test_a_helper_file_is_part_of_the_model(self, watching, tmp_path):
        """Any file of its folder is."""
        source = "import helper\n" + cell("return [reply(x_of(request) * helper.F)]")
        helper = put(tmp_path, "m", source).with_name("helper.py")
        helper.write_text("F = 5")
        self.look(watching)
        assert [5, 10] == answer(watching)

        helper.write_text("F = 7.5")
        self.look(watching)
        assert [7.5, 15] == answer(watching)

    def test_a_folder_that_is_gone_ends_no_service(self, watching, tmp_path):
        """It may be on its way back."""
        (tmp_path / "m").rename(tmp_path / "away")
        self.look(watching)
        assert [2, 4] == answer(watching)

    @pytest.mark.parametrize("end", ["unload", "unwatch"])
    def test_watching_ends(self, watching, tmp_path, end):
        """With the model, or when it is no longer wanted."""
        getattr(watching, end)("m")
        put(tmp_path, "m", TRIPLE)
        self.look(watching)

        assert [] == watching.watched
        assert [] == logged(watching)

    def test_only_what_serves_can_be_watched(self, server):
        """Triton's text."""
        with pytest.raises(InferenceError, match="'m' is not found"):
            server.watch("m")

    def test_a_model_that_writes_while_it_loads_is_loaded_once(self, server, tmp_path):
        """Its own files are no saves."""
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
    """It looks by itself; closing the server ends that."""
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
        """Look once."""
        parts_of(server).changed_files.poll_once()

    def test_what_is_there_serves(self, polling, tmp_path):
        """From the start on; what is added, as of the next look."""
        assert [2, 4] == answer(polling)
        put(tmp_path / "models", "n", TRIPLE)
        self.poll(polling)
        assert [3, 6] == answer(polling, "n")

    def test_what_is_gone_serves_no_more(self, polling, tmp_path):
        """Its requests get Triton's text."""
        shutil.rmtree(tmp_path / "models" / "m")
        self.poll(polling)

        with pytest.raises(InferenceError, match="'m' has no available versions"):
            answer(polling)
        assert [] == polling.index()

    def test_what_changed_is_loaded_anew(self, polling, tmp_path):
        """What did not, is not."""
        self.poll(polling)
        assert [] == logged(polling)
        put(tmp_path / "models", "m", TRIPLE)
        self.poll(polling)
        assert [3, 6] == answer(polling)

    @pytest.mark.parametrize(
        ("source", "config"), [("1 / 0", CONFIG), (DOUBLE, "max_batch_size: {")]
    )
    def test_an_error_keeps_the_running_copy(self, polling, tmp_path, source, config):
        """It is tried again at each look, as on Triton."""
        put(tmp_path / "models", "m", source, config)
        self.poll(polling)
        self.poll(polling)

        assert [2, 4] == answer(polling)
        assert 2 == len(logged(polling))
        put(tmp_path / "models", "m", TRIPLE)
        self.poll(polling)
        assert [3, 6] == answer(polling)

    def test_a_rival_is_left_out(self, polling, tmp_path):
        """The former version still serves."""
        put(tmp_path / "more", "m", TRIPLE)
        put(tmp_path / "more", "n", TRIPLE)
        parts_of(polling).repository.add(tmp_path / "more")
        self.poll(polling)

        assert [2, 4] == answer(polling)
        assert [3, 6] == answer(polling, "n")

    def test_a_model_may_be_defined_all_the_same(self, polling):
        """A cell is not a load call; what is only begun is no model."""
        polling.define("mine", TRIPLE, config=CONFIG)
        parts_of(polling).models.change("begun", {"1/helper.py": ""})
        self.poll(polling)

        assert [3, 6] == answer(polling, "mine")
        assert [] == logged(polling)

    def test_models_cannot_load_either(self, polling):
        """They get the server's text in their own words."""
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


def test_a_polling_server_looks_by_itself(tmp_path):
    """Until it is closed."""
    put(tmp_path, "m")
    with Server(
        model_repository=tmp_path, model_control_mode="poll", repository_poll_s=0.01
    ):
        methods = 'def initialize(self, args):\n    stage.events["loaded"].set()\n\n'
        put(tmp_path, "n", cell("pass", methods=methods))
        assert stage.events["loaded"].wait(60)
    assert "blsnb poll" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("mode", ["none", "poll"])
def test_models_cannot_be_asked_for(tmp_path, mode):
    """Neither to load nor to unload, whether they exist or not."""
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
        assert [2, 4] == answer(server)


class TestBeforeEachCell:
    """What was changed in the private folder by another hand."""

    @pytest.fixture
    def defined(self, server):
        """A server with a model of its own, and one without a file yet."""
        server.define("m", DOUBLE, config=CONFIG, files={"weights": "1"})
        parts_of(server).models.change("begun", {"1/helper.py": ""})
        assert {} == parts_of(server).folders.load_changed()
        return server

    def place(self, server):
        """Where the models are."""
        return parts_of(server).repository.private_root

    def test_a_changed_source_is_loaded(self, defined):
        """Once."""
        put(self.place(defined), "m", TRIPLE)

        assert {"m": None} == parts_of(defined).folders.load_changed()
        assert [3, 6] == answer(defined)
        assert {} == parts_of(defined).folders.load_changed()

    def test_one_that_does_not_load_is_told_once(self, defined):
        """The former version still serves, and the next change is tried."""
        put(self.place(defined), "m", "1 / 0")

        assert "ZeroDivisionError" in str(parts_of(defined).folders.load_changed()["m"])
        assert {} == parts_of(defined).folders.load_changed()
        assert [2, 4] == answer(defined)
        put(self.place(defined), "m", TRIPLE)
        assert {"m": None} == parts_of(defined).folders.load_changed()

    def test_what_a_model_may_write_itself_is_no_source(self, defined):
        """Only Python files and configurations are."""
        (self.place(defined) / "m" / "1" / "weights").write_text("22")
        (self.place(defined) / "m" / "1" / "log").write_text("22")
        assert {} == parts_of(defined).folders.load_changed()

        (self.place(defined) / "m" / "config.pbtxt").write_text(
            CONFIG.replace("-1", "2")
        )
        assert {"m": None} == parts_of(defined).folders.load_changed()

    def test_what_a_cell_wrote_was_loaded_then(self, defined):
        """It is no change by another hand."""
        defined.define("m", TRIPLE)
        assert {} == parts_of(defined).folders.load_changed()

    def test_what_was_unloaded_stays_so(self, defined):
        """Somebody wanted that."""
        defined.unload("m")
        put(self.place(defined), "m", TRIPLE)
        assert {} == parts_of(defined).folders.load_changed()
