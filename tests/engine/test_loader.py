"""From a folder to a model that serves; a reload never loses the last good version."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, cell, instances

from blsnb.errors import InferenceError, ModelLoadError
from blsnb.inference_server import Server

X = {"X": np.array([1, 2], np.float32)}
TRIPLE = cell("return [reply(x_of(request) * 3)]")
LIFE = """
def initialize(self, args):
    stage.seen.append("initialize {0}")

def finalize(self):
    stage.seen.append("finalize {0}")

"""


def hashes(folder: Path) -> dict[str, str]:
    """Every file of a folder, by its contents."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def state(server: Server) -> tuple[object, ...]:
    """All that a failed change must leave as it was."""
    return (
        server.index(),
        server.config("good"),
        hashes(server.repository.private_root),
        server.infer("good", X)["Y"].tolist(),
        server.statistics("good")["model_stats"][0]["version"],
    )


BAD_CELLS = {
    "syntax error": ("class TritonPythonModel:\n    def execute(self\n", "SyntaxError"),
    "no class": ("x = 1\n", "has no attribute 'TritonPythonModel'"),
    "failing initialize": (
        cell("pass", methods="def initialize(self, args):\n    1 / 0\n"),
        "ZeroDivisionError: division by zero",
    ),
    "failing constructor": (
        cell("pass", methods="def __init__(self, more): ...\n"),
        "missing 1 required positional argument: 'more'",
    ),
    "failing import": ("import no_such_module\n", "No module named 'no_such_module'"),
    "failing body": ("1 / 0\n", "ZeroDivisionError: division by zero"),
    "exit": (
        cell("pass", methods="def initialize(self, args):\n    raise SystemExit(3)\n"),
        "SystemExit: 3",
    ),
    "keyboard interrupt": (
        cell(
            "pass", methods="def initialize(self, args):\n    raise KeyboardInterrupt\n"
        ),
        "KeyboardInterrupt: <EMPTY MESSAGE>",
    ),
    "bls in initialize": (
        cell(
            "pass",
            methods="def initialize(self, args):\n"
            "    pb_utils.InferenceRequest(\n"
            "        model_name='good', inputs=[], requested_output_names=[]\n"
            "    ).exec()\n",
        ),
        "BLS is only supported during the 'execute' function.",
    ),
    "bad completion": (
        cell(
            "pass",
            methods="@staticmethod\ndef auto_complete_config(config):\n    return 1\n",
        ),
        "must return a valid",
    ),
}
BAD_CONFIGS = {
    "malformed text": ("input {", ""),
    "unknown field": ("no_such_field: 1", "no_such_field"),
    "unknown type": ('input { name: "X" data_type: TYPE_NONE dims: 1 }', "TYPE_NONE"),
    "another name": (f'name: "other"\n{CONFIG}', "other"),
    "no dims": ('input { name: "X" data_type: TYPE_FP32 }', "dims"),
    "no instances": (
        f"{CONFIG}\nversion_policy {{ specific {{ versions: 7 }} }}",
        "version",
    ),
}


@pytest.mark.parametrize("bad", BAD_CELLS)
def test_a_bad_cell_changes_nothing(server, bad):
    """The error is Triton's; index, configuration, files and answers stay."""
    source, text = BAD_CELLS[bad]
    server.define("good", DOUBLE, config=CONFIG, files={"helper.py": "x = 1"})
    before = state(server)

    with pytest.raises(ModelLoadError) as caught:
        server.define("good", source, config=CONFIG, files={"helper.py": "x = 2"})

    assert text in str(caught.value)
    assert before == state(server)


@pytest.mark.parametrize("bad", BAD_CONFIGS)
def test_a_bad_configuration_changes_nothing(server, bad):
    """The same for a configuration that cannot be read or is not valid."""
    config, text = BAD_CONFIGS[bad]
    server.define("good", DOUBLE, config=CONFIG)
    before = state(server)

    with pytest.raises(ModelLoadError) as caught:
        server.define("good", TRIPLE, config=config)

    assert text in str(caught.value)
    assert before == state(server)


@pytest.mark.parametrize("bad", BAD_CELLS)
def test_a_bad_new_model_leaves_nothing(server, bad):
    """A name that was not there is not there afterwards either."""
    server.define("good", DOUBLE, config=CONFIG)
    before = state(server)

    with pytest.raises(ModelLoadError):
        server.define("fresh", BAD_CELLS[bad][0], config=CONFIG)

    assert before == state(server)
    with pytest.raises(InferenceError) as caught:
        server.infer("fresh", X)
    assert "Request for unknown model: 'fresh' is not found" == caught.value.message


def bad_requests() -> dict[str, tuple[dict[str, object], str]]:
    """Requests that a model never sees, and words of Triton's answer."""
    fine = X["X"]
    return {
        "dtype": ({"X": fine.astype(np.float64)}, "data-type is 'FP64'"),
        "shape": ({"X": fine.reshape(1, 2)}, "unexpected shape for input 'X'"),
        "name": ({"Q": fine}, "unexpected inference input 'Q'"),
        "none": ({}, "expected 1 inputs but got 0"),
    }


@pytest.mark.parametrize("bad", bad_requests())
def test_a_bad_request_changes_nothing(server, bad):
    """It is refused in Triton's words before a model sees it."""
    inputs, text = bad_requests()[bad]
    server.define("good", DOUBLE, config=CONFIG)
    before = state(server)

    with pytest.raises(InferenceError) as caught:
        server.infer("good", inputs)

    assert text in caught.value.message
    assert "INVALID_ARG" == caught.value.code
    assert before == state(server)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise ValueError('boom')", "ValueError: boom"),
        ("return []", "do not match the number of InferenceRequest objects"),
        ("return [reply(x_of(request))] * 2", "InferenceResponse(s) size is:2"),
        (
            "return ()",
            "Expected a list in the execute return, found type '<class 'tuple'>'",
        ),
        ("return [1]", "Expected an 'InferenceResponse' object"),
        ("return None", "Triton would wait here for ever"),
        ("exit(4)", "SystemExit: 4"),
        ('return [reply(answer_of(ask("failing", request).exec()))]', "would wait"),
        ('answer_of(ask("nobody", request).exec())', "'nobody' is not"),
    ],
)
def test_a_failing_execute_changes_nothing(server, body, text):
    """Whatever it does, the server and its other models go on."""
    server.define("good", DOUBLE, config=CONFIG)
    server.define("failing", cell(body), config=CONFIG)
    before = state(server)

    for _ in range(2):
        with pytest.raises(InferenceError) as caught:
            server.infer("failing", X)
        assert text in caught.value.message

    assert caught.value.run is not None
    assert before == state(server)


def test_the_new_copy_initialises_before_the_old_one_ends(server):
    """Only when it is ready does it replace the old one."""
    server.define("model", cell("pass", methods=LIFE.format(1)), config=CONFIG)
    server.define("model", cell("pass", methods=LIFE.format(2)), config=CONFIG)

    assert ["initialize 1", "initialize 2", "finalize 1"] == stage.seen


def test_a_failed_reload_finalizes_nothing_that_serves(server):
    """The old copy keeps its state, too."""
    count = "count = 0\n" + cell(
        "global count\ncount += 1\nreturn [reply(x_of(request) * count)]",
        methods=LIFE.format(1),
    )
    server.define("model", count, config=CONFIG)
    server.infer("model", X)

    with pytest.raises(ModelLoadError):
        server.define("model", "1 / 0")

    assert [2, 4] == server.infer("model", X)["Y"].tolist()
    assert ["initialize 1"] == stage.seen


def test_a_failing_second_instance_ends_the_first(server):
    """No instance of a model that does not load stays behind."""
    methods = """
def initialize(self, args):
    stage.seen.append(args["model_instance_name"])
    if args["model_instance_name"].endswith("_1"):
        raise ValueError("the second")

"""
    with pytest.raises(ModelLoadError, match="ValueError: the second"):
        server.define("model", cell("pass", methods=methods), config=instances(2))

    assert ["model_0_0", "model_0_1"] == stage.seen
    assert [] == server.index()


def test_a_request_in_flight_keeps_its_old_version(server):
    """It is answered by the copy it began on, which is finalized afterwards."""
    slow = cell(
        """
        stage.events["busy"].set()
        stage.events["go on"].wait(10)
        return [reply(x_of(request) * 2)]
        """,
        methods=LIFE.format("old"),
    )
    server.define("model", slow, config=CONFIG)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(server.infer, "model", X)
        assert stage.events["busy"].wait(10)

        server.define("model", TRIPLE)
        assert [3, 6] == server.infer("model", X)["Y"].tolist()
        assert ["initialize old"] == stage.seen
        stage.events["go on"].set()

        assert [2, 4] == running.result(10)["Y"].tolist()
    assert ["initialize old", "finalize old"] == stage.seen


def test_requests_during_reloads_are_all_answered(server):
    """None of them falls between the old copy and the new one."""
    server.define("model", DOUBLE, config=CONFIG)
    stop = threading.Event()
    answers: list[list[float]] = []
    failures: list[BaseException] = []

    def client() -> None:
        try:
            while not stop.is_set():
                answers.append(server.infer("model", X)["Y"].tolist())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=client) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        server.load("model")
    stop.set()
    for thread in threads:
        thread.join(10)

    assert [] == failures
    assert {(2, 4)} == {tuple(answer) for answer in answers}


def test_models_are_defined_from_several_threads(server):
    """Each is there in the end, whole."""

    def define(number: int) -> str:
        body = f"return [reply(x_of(request) * {number})]"
        return server.define(f"model{number}", cell(body), config=CONFIG).state

    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(define, range(8)))

    assert ["READY"] * 8 == states
    assert [[n, 2 * n] for n in range(8)] == [
        server.infer(f"model{n}", X)["Y"].tolist() for n in range(8)
    ]


def test_one_model_defined_from_several_threads_stays_whole(server):
    """Good and bad cells at once: the file on disk is what serves."""
    server.define("model", DOUBLE, config=CONFIG)

    def define(number: int) -> bool:
        body = "1 / 0\n" if number % 2 else ""
        source = body + cell(f"return [reply(x_of(request) * {number})]")
        try:
            server.define("model", source)
        except ModelLoadError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        good = list(pool.map(define, range(8)))

    assert [number % 2 == 0 for number in range(8)] == good
    served = server.infer("model", X)["Y"].tolist()
    server.load("model")
    assert served == server.infer("model", X)["Y"].tolist()


def test_unload_finalizes_and_is_repeatable(server):
    """The model is gone, its folder stays, a load brings it back."""
    server.define("model", cell("pass", methods=LIFE.format(1)), config=CONFIG)

    server.unload("model")
    server.unload("model")
    server.unload("never there")

    assert ["initialize 1", "finalize 1"] == stage.seen
    assert [
        {
            "name": "model",
            "version": "1",
            "state": "UNAVAILABLE",
            "reason": "unloaded",
        }
    ] == server.index()
    with pytest.raises(InferenceError) as caught:
        server.infer("model", X)
    assert "has no available versions" in caught.value.message
    assert "READY" == server.load("model").state


def test_a_failing_finalize_is_no_failure(server):
    """As on Triton it is only logged."""
    methods = "def finalize(self):\n    1 / 0\n"
    server.define("model", cell("pass", methods=methods), config=CONFIG)

    server.unload("model")

    assert "UNAVAILABLE" == server.model("model").state


def test_bls_is_refused_in_finalize(server):
    """Triton allows it during ``execute`` only."""
    methods = """
def finalize(self):
    try:
        pb_utils.InferenceRequest(
            model_name="model", inputs=[], requested_output_names=[]
        ).exec()
    except pb_utils.TritonModelException as error:
        stage.seen.append(str(error))

"""
    server.define("model", cell("pass", methods=methods), config=CONFIG)
    server.unload("model")

    assert ["BLS is only supported during the 'execute' function."] == stage.seen


def test_the_newest_version_serves(server):
    """Without a policy it is the version with the largest number."""
    server.define("model", DOUBLE, config=CONFIG)
    status = server.define("model", TRIPLE, version=3)

    assert (3,) == status.versions
    assert [3, 6] == server.infer("model", X)["Y"].tolist()
    with pytest.raises(InferenceError) as caught:
        server.infer("model", X, version=1)
    assert "'model' version 1 is not at ready state" in caught.value.message


@pytest.mark.parametrize(
    ("policy", "versions"),
    [
        ("all {}", (1, 2, 3)),
        ("latest { num_versions: 2 }", (2, 3)),
        ("specific { versions: [1, 3] }", (1, 3)),
    ],
)
def test_the_version_policy_chooses(server, policy, versions):
    """Each version chosen serves by its number; none given asks for the newest."""
    config = f"{CONFIG}\nversion_policy {{ {policy} }}"
    files: dict[str, str | None] = {"config.pbtxt": config}
    for number in (1, 2, 3):
        body = f"return [reply(x_of(request) * {number})]"
        files[f"{number}/model.py"] = cell(body)
    status = server.change("model", files)

    assert versions == status.versions
    assert [[float(n), 2.0 * n] for n in versions] == [
        server.infer("model", X, version=n)["Y"].tolist() for n in versions
    ]
    assert [3, 6] == server.infer("model", X)["Y"].tolist()


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ("", ["model_0"]),
        ("instance_group { kind: KIND_CPU }", ["model_0_0"]),
        ("instance_group { count: 2 kind: KIND_CPU }", ["model_0_0", "model_0_1"]),
        (
            'instance_group { name: "a" count: 2 kind: KIND_CPU }\n'
            "instance_group { kind: KIND_CPU }",
            ["a_0", "a_1", "model_1_0"],
        ),
    ],
)
def test_instances_have_tritons_names(server, groups, names):
    """As the server names them, in the order of the groups."""
    methods = (
        "def initialize(self, args):\n"
        '    stage.seen.append(args["model_instance_name"])\n\n'
    )
    source = cell("pass", methods=methods)
    server.define("model", source, config=f"{CONFIG}\n{groups}")

    assert names == stage.seen


def test_initialize_receives_seven_strings(server):
    """Names, folder and version, the configuration as JSON."""
    methods = "def initialize(self, args):\n    stage.seen.append(args)\n\n"
    server.define("model", cell("pass", methods=methods), config=CONFIG)

    (args,) = stage.seen
    assert all(type(each) is str for pair in args.items() for each in pair)
    assert '"name":"X"' in args.pop("model_config")
    assert {
        "model_instance_kind": "CPU",
        "model_instance_name": "model_0",
        "model_instance_device_id": "0",
        "model_repository": str(server.repository.private_root / "model"),
        "model_version": "1",
        "model_name": "model",
    } == args


def test_a_model_without_configuration_completes_its_own(server):
    """``auto_complete_config`` is called on the class, in a process of its own."""
    methods = """
count = 0

@staticmethod
def auto_complete_config(config):
    TritonPythonModel.count += 1
    tensor = {"data_type": "TYPE_FP32", "dims": [-1]}
    config.add_input({"name": "X", **tensor})
    config.add_output({"name": "Y", **tensor})
    config.set_max_batch_size(0)
    return config

def initialize(self, args):
    stage.seen.append(self.count)

"""
    source = cell("return [reply(x_of(request) * 2)]", methods=methods)
    server.define("model", source)

    assert [2, 4] == server.infer("model", X)["Y"].tolist()
    assert [0] == stage.seen


def test_a_model_without_execute_is_ready_and_fails(server):
    """As on Triton: it loads, and each request says what is missing."""
    server.define("model", "class TritonPythonModel: ...\n", config=CONFIG)

    with pytest.raises(InferenceError, match="does not implement `execute` method"):
        server.infer("model", X)
