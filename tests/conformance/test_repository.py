"""Repositories on disk: duplicate names, folder names, control modes, the index."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import until

from blsnb import Server

from .covering import rows
from .elsewhere import CONFIG, MODEL, put, remove

CALLER = """
import helper
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    # ä, to the letter
    def execute(self, requests):
        call = pb_utils.InferenceRequest(
            model_name="callee", requested_output_names=["Y"], inputs=[])
        got = pb_utils.get_output_tensor_by_name(call.exec(), "Y").as_numpy()
        y = pb_utils.Tensor("Y", got * np.int32(helper.FACTOR))
        return [pb_utils.InferenceResponse([y]) for _ in requests]
"""


@rows(
    "r1.1/several-repositories-the-same-directory-name",
    "r1.4/load-of-a-not-loaded-model",
    "r1.5/model-appears-in-two-or-more",
    "r1.4/unload",
)
def test_a_name_in_two_repositories(agree, disks):
    """Neither is loaded until one is removed; a loaded model continues to serve."""

    def case(target):
        disk = disks()
        a, b = disk.folder / "a", disk.folder / "b"
        for place, name, answer in (
            (a, "m", 1),
            (b, "m", 2),
            (a, "x", 3),
            (b, "y", 4),
        ):
            put(place, name, answer)
        # A repository that is given twice is one.
        with disk.serving(target, ("a", "b", "a")) as server:
            seen = [server.index(), server.load("m"), server.index()]
            seen += [server.load("x"), server.infer("x"), server.infer("m")]
            seen += [server.unload("m")]
            put(b, "x", 5)
            seen += [server.index(), server.load("x"), server.infer("x")]
            seen += [server.unload("x"), server.infer("x"), server.index()]
            remove(b / "m")
            seen += [server.load("m"), server.infer("m"), server.index()]
        return seen

    agree(case)


def test_what_was_exported_is_served(agree, disks):
    """Models are written in cells, exported, and loaded by the server."""

    def case(target):
        disk = disks()
        callee = MODEL.format(answer=7, initialize="pass")
        with Server(triton_release="24.10") as server:
            server.define("callee", callee, config=CONFIG)
            files = {"helper.py": "FACTOR = 3"}
            server.define("caller", CALLER, config=CONFIG, files=files, version=2)
            server.export_repository(disk.folder / "out")
        with disk.serving(target, ("out",)) as server:
            seen = [server.load("callee"), server.load("caller"), server.index()]
            return [*seen, server.infer("caller")]

    agree(case)


POLICY = f"{CONFIG} version_policy {{ specific {{ versions: [ 2, 1, 7 ] }} }}"


@pytest.mark.slow
@rows(
    "r1.1/only-sub-directories-of-the-repository",
    "r1.1/model-name-directory-name-name-in",
    "r1.1/model-names-may-contain-dots-digits",
    "r1.1/version-directory-name-parsed-as-a",
    "r1.1/no-usable-version-load-error-at",
    "r1.4/load-of-unknown",
    "r1.6/poll-stage-text-parse-normalize-structural",
)
def test_folders_and_what_they_stand_for(agree, disks):
    """Names of versions, empty models, files, links, and other folders."""

    def case(target):
        disk = disks()
        models, built = disk.models, disk.folder / "built"
        for name, versions in {
            "prefix": ["3abc", "3", "2"],
            "zero": ["0"],
            "leading": ["01"],
            "lost": ["-4", "1"],
            "big": ["9223372036854775807"],
            "many": ["1", "2", "10"],
            "policy": ["1", "2", "10"],
            "0.digits": ["1"],
        }.items():
            for version in versions:
                config = POLICY if name == "policy" else CONFIG
                disk.put(name, version=version, config=config)
        put(built, "linked")
        put(built, "version")
        (models / "linked").symlink_to(built / "linked")
        (models / "version").mkdir()
        (models / "version" / "7").symlink_to(built / "version" / "1")
        (models / "version" / "config.pbtxt").write_text(CONFIG)
        (models / "file").write_text("")
        (models / "empty").mkdir()
        (models / "bare").mkdir()
        (models / "bare" / "config.pbtxt").write_text(CONFIG)
        disk.put("misnamed", config=f'name: "other" {CONFIG}')
        with disk.serving(target) as server:
            before = server.index()
            names = [row["name"] for row in before]
            answers = [
                (name, server.load(name)) for name in (*names, "file", "nowhere", "")
            ]
            after = server.index()
            return [before, answers, after, [server.infer(name) for name in names]]

    agree(case)


@rows("r1.4/name-checks-newer-source-only")
def test_a_name_that_is_a_path(agree, disks):
    """It leaves the repository on this release; newer releases and blsnb refuse it."""

    def case(target):
        disk = disks()
        put(disk.folder / "built", "m")
        with disk.serving(target) as server:
            return [server.load("../built/m"), server.index()]

    text = "failed to load '../built/m', failed to poll from model repository"

    def ours(known, seen):
        assert [None, []] == known
        assert [["INTERNAL", text], []] == seen

    agree(case, deviates="a name is the name of a folder, not a path", ours=ours)


ALL = f"{CONFIG} version_policy {{ all {{}} }}"
TWO = f"{CONFIG} version_policy {{ latest {{ num_versions: 2 }} }}"
LISTED = f"{CONFIG} version_policy {{ specific {{ versions: [ 1, 3 ] }} }}"


@pytest.mark.slow
@rows(
    "r1.2/absent",
    "r1.2/latest-num_versions-n",
    "r1.2/all",
    "r1.2/specific-versions",
    "r1.4/new-version-directory-under-latest-1",
    "r1.5/unloaded",
    "r3.2/explicit-version-exists-not-ready",
)
def test_versions_come_and_go(agree, disks):
    """A new version is loaded; a broken one prevents the others; a policy changes."""

    def case(target):
        disk = disks()
        disk.put("m", 1)
        seen = []
        with disk.serving(target) as server:

            def look(*versions):
                seen.append([server.load("m"), server.index(), server.infer("m")])
                seen.append([server.infer("m", version) for version in versions])

            look("1", "2")
            disk.put("m", 2, version="2")
            look("1", "2")
            disk.put("m", 3, version="3", config=ALL)
            look("1", "2", "3")
            disk.put("m", 4, version="4", initialize="raise ValueError('no')")
            look("3", "4")
            disk.put("m", 5, version="4", config=TWO)
            look("2", "3", "4")
            disk.put("m", 6, version="4", config=LISTED)
            look("1", "2", "3", "4")
            remove(disk.models / "m" / "3")
            look("1", "3")
        return seen

    agree(case)


@rows("r1.2/all")
def test_a_policy_without_a_choice(agree, disks):
    """All versions are loaded."""

    def case(target):
        disk = disks()
        for version in ("1", "2"):
            disk.put("m", version=version, config=f"{CONFIG} version_policy {{ }}")
        with disk.serving(target) as server:
            return [server.load("m"), server.index()]

    agree(case)


@rows(
    "r1.5/code-text-message-e-g-internal",
    "r1.6/create-stage-auto-complete-i-o",
)
def test_a_broken_version_takes_the_others_along(agree, disks):
    """The index names it; a version outside of the policy has no row."""

    def case(target):
        disk = disks()
        for version in ("1", "2", "3"):
            how = {"initialize": "raise ValueError('no')"} if version == "2" else {}
            disk.put("all", version=version, config=ALL, **how)
        disk.put("newest", version="1")
        disk.put("newest", version="2", initialize="raise ValueError('no')")
        with disk.serving(target) as server:
            return [server.load("all"), server.load("newest"), server.index()]

    agree(case)


@pytest.mark.slow
@rows(
    "r1.4/reload-fails-initialize-raises",
    "r1.4/reload-with-an-unparsable-invalid-config",
    "r1.4/unload-of-an-unknown-or-already",
    "r1.4/unload",
    "r1.6/create-stage-auto-complete-i-o",
)
def test_a_reload_that_fails_loses_nothing(agree, disks):
    """The old model continues to serve, and each error names its stage."""

    def case(target):
        disk = disks()
        disk.put("m", 1)
        seen = []
        with disk.serving(target) as server:

            def look(answer):
                seen.append([answer, server.index(), server.infer("m")])

            look(server.load("m"))
            disk.put("m", 2, initialize="raise ValueError('no')")
            look(server.load("m"))
            look(server.load("m"))
            disk.put("m", 3, config="max_batch_size: {")
            look(server.load("m"))
            disk.put("m", 4, config=f"{CONFIG} max_batch_size: -1")
            look(server.load("m"))
            disk.put("m", 5)
            look(server.load("m"))
            for name in ("m", "m", "nowhere"):
                look(server.unload(name))
            look(server.load("m"))
        return seen

    agree(case)


@rows(
    "r1.4/model-directory-removed-then-load",
)
def test_a_model_whose_folder_is_gone(agree, disks):
    """It serves until it is unloaded, but is not in the index."""

    def case(target):
        disk = disks()
        disk.put("m", 1)
        with disk.serving(target) as server:
            seen = [server.load("m")]
            remove(disk.models / "m")
            seen += [server.load("m"), server.index(), server.infer("m")]
            return [*seen, server.unload("m"), server.infer("m"), server.index()]

    agree(case)


@pytest.mark.slow
@rows(
    "r1.3/poll-repository-poll-secs-default-15",
)
def test_polling_follows_the_folders(agree, disks):
    """Added, changed, broken, fixed, removed; explicit loads are refused."""

    def case(target):
        disk = disks()
        disk.put("m", 1)
        disk.put("gone", 9)
        with disk.serving(target, mode="poll") as server:
            seen = [server.index()]
            seen += [server.load("m"), server.unload("m"), server.unload("nowhere")]
            disk.put("n", 2)
            until(lambda: server.infer("n") == 2)
            disk.put("m", 3)
            until(lambda: server.infer("m") == 3)
            seen += [server.index(), server.infer("n"), server.infer("m")]
            disk.put("n", 4, initialize="raise ValueError('no')")
            disk.put("m", 5, config="max_batch_size: {")
            # What comes after it in the same look or a later one is there in the end.
            disk.put("o", 6)
            until(lambda: server.infer("o") == 6)
            seen += [server.index(), server.infer("n"), server.infer("m")]
            disk.put("m", 7)
            until(lambda: server.infer("m") == 7)
            remove(disk.models / "gone")
            until(lambda: not isinstance(server.infer("gone"), int))
            seen += [server.index(), server.infer("m"), server.infer("gone")]
        return seen

    agree(case)


BROKEN = {"bad": {"initialize": "raise ValueError('no')"}, "odd": {"config": "{"}}
STARTS = {
    "all, one fails": {"mode": "none"},
    "named, it fails": {"startup": ("bad",)},
    "named, it is no configuration": {"startup": ("odd",)},
    "named, it is unknown": {"startup": ("nowhere",)},
    "a wildcard among names": {"startup": ("*", "m")},
}


@pytest.mark.parametrize("settings", STARTS.values(), ids=STARTS)
def test_why_a_server_does_not_start(agree, disks, settings):
    """Its last words."""

    def case(target):
        disk = disks()
        disk.put("m")
        for name, how in BROKEN.items():
            disk.put(name, **how)
        return disk.why(target, **settings)

    agree(case)


@rows(
    "r1.3/none-default",
)
def test_without_control_nobody_loads(agree, disks):
    """Models of the start serve; the index has the reason of a broken one."""

    def case(target):
        disk = disks()
        disk.put("m")
        disk.put("odd", **BROKEN["odd"])
        with disk.serving(target, mode="none", exit_on_error=False) as server:
            seen = [server.index(), server.infer("m"), server.infer("odd")]
            disk.put("n")
            seen += [server.load("m"), server.load("n"), server.unload("m")]
            return [*seen, server.index()]

    agree(case)


@rows(
    "r1.3/explicit",
)
def test_a_broken_model_of_the_start_is_in_the_index(agree, disks):
    """The reason is known if its load began."""

    def case(target):
        disk = disks()
        disk.put("m")
        disk.put("bad", **BROKEN["bad"])
        settings = {"startup": ("m", "bad", "m"), "exit_on_error": False}
        with disk.serving(target, **settings) as server:
            until(lambda: "LOADING" not in str(server.index()))
            return [server.index(), server.infer("bad"), server.load("bad")]

    agree(case)


WAITING = """import os, threading
        open({begun!r}, "w").close()
        while not os.path.exists({go!r}):
            threading.Event().wait(0.002)"""


def test_a_model_is_loading_while_it_initializes(agree, disks):
    """In the index, and in the texts of requests; a version that serves stays ready."""

    def case(target):
        disk = disks()
        begun, go = disk.folder / "begun", disk.folder / "go"
        initialize = WAITING.format(begun=str(begun), go=str(go))
        seen = []
        disk.put("m", initialize=initialize)

        def load():
            loaded = pool.submit(server.load, "m")
            until(begun.exists)
            answers = [server.infer("m", version) for version in ("", "1", "2")]
            seen.append([server.index(), *answers])
            go.touch()
            seen.append([loaded.result(), server.index()])
            begun.unlink()
            go.unlink()

        with ThreadPoolExecutor() as pool, disk.serving(target) as server:
            load()
            server.unload("m")
            load()
            disk.put("m", 2, version="2", initialize=initialize)
            load()
            return seen

    agree(case)


OVERRIDE = (
    '{"backend":"python",%s"output":[{"name":"Y","data_type":"TYPE_INT32","dims":[1]}]}'
)
NOTE = OVERRIDE % '"parameters":{"a":{"string_value":%s}},'
PLAIN = OVERRIDE % ""
LENIENT = {
    "a comma after the last member": PLAIN.replace("}]}", "}],}"),
    "a comma after the last element": PLAIN.replace("[1]", "[1, ]"),
    "a comma alone": PLAIN.replace("[1]", "[,]"),
    "two commas": PLAIN.replace("[1]", "[1,,]"),
    "keys without quotes": PLAIN.replace('"name"', "name").replace('"dims"', "dims "),
    "a word without quotes": PLAIN.replace('"Y"', "Y"),
    "single quotes": PLAIN.replace('"', "'"),
    "a quote in single quotes": NOTE % "'a\"b'",
    "an escaped single quote": NOTE % "'a\\'b'",
    "a tab and a line in a string": NOTE % '"a\tb\nc"',
    "an unknown escape": NOTE % '"\\a\\x"',
    "a comment": PLAIN.replace("{", "{ /* a */", 1),
}


def test_overrides_may_be_lenient_json(agree, disks):
    """The parser is protobuf's."""

    def case(target):
        disk = disks()
        disk.put("m")
        with disk.serving(target) as server:
            return [[name, server.load("m", LENIENT[name])] for name in LENIENT]

    agree(case)
