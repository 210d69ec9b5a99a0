"""Each instance has its own modules, imports and pb_utils."""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib
import linecache
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, cell, instances
from faults import LineFault, press_ctrl_c

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.open_requests import interruptible
from blsnb.errors import InferenceError, ModelLoadError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.trace.run_record import RunRecord

X = {"X": np.array([1, 2], np.float32)}
FACTOR = "return [reply(x_of(request) * {})]"


def result(server: Server, name: str) -> list[float]:
    """Return a model's response to [1, 2]."""
    return server.infer(name, X)["Y"].tolist()


def with_import(line: str, expression: str) -> str:
    """Return a model that imports something at its top and multiplies by it."""
    return f"{line}\n{cell(FACTOR.format(expression))}"


def test_two_models_have_different_helpers(server):
    """Sibling files with equal names are different modules."""
    source = with_import("import helper", "helper.FACTOR")
    server.define("two", source, config=CONFIG, files={"helper.py": "FACTOR = 2"})
    server.define("three", source, config=CONFIG, files={"helper.py": "FACTOR = 3"})

    assert [[2, 4], [3, 6]] == [result(server, "two"), result(server, "three")]
    assert "helper" not in sys.modules


def test_a_late_import_finds_the_models_own_helper(server):
    """Imports inside ``execute``, long after the load, work, too."""
    source = cell(f"import helper\n{FACTOR.format('helper.FACTOR')}")
    server.define("two", source, config=CONFIG, files={"helper.py": "FACTOR = 2"})
    server.define("three", source, config=CONFIG, files={"helper.py": "FACTOR = 3"})

    assert [[2, 4], [3, 6]] == [result(server, "two"), result(server, "three")]


def test_a_helper_imports_its_neighbours(server):
    """Imports of a sibling resolve like those of the model."""
    helper = (
        "import other\n\ndef factor():\n    import third\n    return third.FACTOR\n"
    )
    files = {"helper.py": helper, "other.py": "", "third.py": "FACTOR = 2"}
    source = with_import("import helper", "helper.factor()")
    server.define("model", source, config=CONFIG, files=files)

    assert [2, 4] == result(server, "model")


def test_a_relative_import_finds_a_sibling(server):
    """On Triton the version's folder is a package."""
    source = with_import("from . import helper", "helper.FACTOR")
    server.define("model", source, config=CONFIG, files={"helper.py": "FACTOR = 2"})

    assert [2, 4] == result(server, "model")


@pytest.mark.parametrize(
    "line", ["import tools.scale as scale", "from tools import scale"]
)
@pytest.mark.parametrize("init", [{"tools/__init__.py": ""}, {}], ids=["", "namespace"])
def test_a_package_beside_the_model(server, line, init):
    """A folder is a package, with or without ``__init__.py``."""
    files = {**init, "tools/scale.py": "from .number import FACTOR"}
    files["tools/number.py"] = "FACTOR = 2"
    source = with_import(line, "scale.FACTOR")
    server.define("model", source, config=CONFIG, files=files)

    assert [2, 4] == result(server, "model")


def test_a_module_in_the_models_folder(server):
    """Files beside the version folders are shared by all versions."""
    source = with_import("import shared", "shared.FACTOR")
    files = {
        "config.pbtxt": CONFIG,
        "shared.py": "FACTOR = 2",
        "1/model.py": source,
    }
    parts_of(server).models.change("model", files)

    assert [2, 4] == result(server, "model")


def test_an_installed_module_wins_over_a_sibling(server):
    """On Triton the model's folders come last in ``sys.path``."""
    source = with_import("import json", "len(json.dumps([]))")
    server.define("model", source, config=CONFIG, files={"json.py": "FACTOR = 9"})

    assert [2, 4] == result(server, "model")


def test_a_changed_helper_counts_after_a_reload(server):
    """No compiled file of the old text is used."""
    source = with_import("import helper", "helper.FACTOR")
    server.define("model", source, config=CONFIG, files={"helper.py": "FACTOR = 2"})
    parts_of(server).models.change("model", {"1/helper.py": "FACTOR = 3"})

    assert [3, 6] == result(server, "model")


def test_a_helper_has_the_pb_utils_of_its_instance(server):
    """A sibling can make BLS calls."""
    helper = (
        "import triton_python_backend_utils as pb_utils\n\n"
        "def ask(tensors):\n"
        "    request = pb_utils.InferenceRequest(model_name='double',\n"
        "        inputs=tensors, requested_output_names=['Y'])\n"
        "    return request.exec().output_tensors()\n"
    )
    body = "return [pb_utils.InferenceResponse(helper.ask(request.inputs()))]"
    server.define("double", cell(FACTOR.format(2)), config=CONFIG)
    server.define(
        "model",
        "import helper\n" + cell(body),
        config=CONFIG,
        files={"helper.py": helper},
    )

    run = server.infer("model", X)

    assert [2, 4] == run["Y"].tolist()
    assert ["model", "double"] == [
        run.trace.models[span.model].name for span in run.trace.spans
    ]


def test_a_patched_pb_utils_does_not_leak(server):
    """Each instance has its own ``triton_python_backend_utils``."""
    patch = "def initialize(self, args):\n    pb_utils.TRITON_FACTOR = 5\n"
    read = "return [reply(x_of(request) * getattr(pb_utils, 'TRITON_FACTOR', 1))]"
    server.define("patched", cell(read, methods=patch), config=CONFIG)
    server.define("other", cell(read), config=CONFIG)

    assert [[5, 10], [1, 2]] == [result(server, "patched"), result(server, "other")]


def test_globals_are_not_shared_between_instances(server):
    """On Triton an instance is a process, so globals are per instance."""
    body = """
    global count
    count += 1
    stage.barriers["both"].wait(60)
    return [reply(x_of(request) * count)]
    """
    stage.barriers["both"] = threading.Barrier(2)
    server.define("counting", "count = 0\n" + cell(body), config=instances(2))

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: result(server, "counting"), range(2)))

    assert [[1, 2]] * 2 == results


def test_a_dataclass_under_future_annotations(server):
    """Dataclasses look their module up by name, which must exist."""
    source = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass, field\n\n"
        "@dataclass\nclass Scale:\n"
        "    factor: int = 2\n    seen: list[int] = field(default_factory=list)\n\n"
    )
    server.define(
        "model", source + cell(FACTOR.format("Scale().factor")), config=CONFIG
    )

    assert [2, 4] == result(server, "model")


def test_type_hints_of_a_models_class_resolve(server):
    """``typing.get_type_hints`` evaluates them in the instance's module."""
    body = """
    import typing
    stage.seen.append(typing.get_type_hints(Scale)["factor"] is Number)
    return [reply(x_of(request))]
    """
    source = (
        "from __future__ import annotations\n\nclass Number(int): ...\n\n"
        "class Scale:\n    factor: Number\n\n"
    )
    server.define("model", source + cell(body), config=CONFIG)
    server.infer("model", X)

    assert [True] == stage.seen


def test_a_class_of_the_model_can_be_pickled(server):
    """Classes of helpers can be pickled, too; copies have the same class."""
    body = """
    import pickle
    import helper
    for thing in (Mine(), helper.Theirs()):
        copy = pickle.loads(pickle.dumps(thing))
        stage.seen.append(type(copy) is type(thing))
    return [reply(x_of(request))]
    """
    server.define(
        "model",
        "class Mine: ...\n" + cell(body),
        config=CONFIG,
        files={"helper.py": "class Theirs: ...\n"},
    )
    server.infer("model", X)

    assert [True, True] == stage.seen


def test_the_models_own_file_is_known(server):
    """``__file__`` and ``get_model_dir`` name the real folder."""
    body = """
    from pathlib import Path
    stage.seen += [Path(__file__).read_text(), pb_utils.get_model_dir()]
    return [reply(x_of(request))]
    """
    source = cell(body)
    server.define("model", source, config=CONFIG)
    server.infer("model", X)

    folder = parts_of(server).repository.private("model").version_dir(1)
    assert [source, str(folder)] == stage.seen


@pytest.mark.parametrize(
    "line",
    [
        "error = pb_utils.TritonError('no')",
        "class Mine:\n    tensor = pb_utils.Tensor",
        "def f(x: pb_utils.InferenceRequest): ...",
        "def f(x=pb_utils.Logger): ...",
    ],
)
def test_compiled_names_are_not_there_at_import(server, line):
    """Triton adds them after the import; the error says what to do."""
    source = f"import triton_python_backend_utils as pb_utils\n{line}\n"

    with pytest.raises(ModelLoadError) as caught:
        server.define("early", source + cell("pass"), config=CONFIG)

    text = str(caught.value)
    assert "module 'triton_python_backend_utils' has no attribute" in text
    assert "inside a method" in text
    assert "from __future__ import annotations" in text


@pytest.mark.parametrize("name", ["Tensor", "get_model_dir"])
def test_compiled_names_cannot_be_imported_by_name_at_import(server, name):
    """Python's own error for that has the same fix."""
    line = f"from triton_python_backend_utils import ModelConfig, {name}\n"

    with pytest.raises(ModelLoadError) as caught:
        server.define("early", line + cell("pass"), config=CONFIG)

    assert f"cannot import name '{name}' from 'triton_p" in caught.value.message
    assert f"Triton adds pb_utils.{name} after" in caught.value.advice


def test_names_can_be_imported_by_name_inside_a_method(server):
    """The names exist by then."""
    line = "from triton_python_backend_utils import InferenceResponse"
    server.define("m", cell(f"{line}\nreturn [InferenceResponse([])]"), config=CONFIG)

    assert {} == server.infer("m", X).outputs


def test_the_embedded_module_is_the_instances_own_from_the_first_line_on(server):
    """It makes BLS calls and has the classes of the same release."""
    top = "import c_python_backend_utils as compiled\n"
    execute = """
    same = compiled.InferenceRequest is pb_utils.InferenceRequest is type(request)
    call = compiled.InferenceRequest(
        model_name="nope", inputs=[], requested_output_names=[]
    )
    stage.seen.append([same, call.exec().has_error()])
    return [compiled.InferenceResponse()]
    """
    server.define("m", top + cell(execute), config=CONFIG)
    server.infer("m", X)

    assert [[True, True]] == stage.seen


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed module that calls models for its caller."""
    text = """
    import triton_python_backend_utils as pb_utils

    def asked(inputs, name="double"):
        pb_utils.Logger.log_info(f"asks {name}")
        return pb_utils.InferenceRequest(
            model_name=name, inputs=inputs, requested_output_names=["Y"]
        ).exec()

    def home():
        return pb_utils.get_model_dir()
    """
    (tmp_path / "asks_models.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("asks_models", "triton_python_backend_utils"):
        sys.modules.pop(name, None)


def test_an_installed_package_acts_for_the_model_that_calls_it(server, package):
    """Its calls, log lines and folder are those of the calling model."""
    server.define("double", DOUBLE, config=CONFIG)
    body = """
    import asks_models
    stage.seen.append(asks_models.home())
    return [asks_models.asked(request.inputs())]
    """
    for name in ("first", "second"):
        server.define(name, cell(body), config=CONFIG)
    runs = [server.infer(name, X) for name in ("first", "second")]

    assert [[2, 4], [2, 4]] == [run["Y"].tolist() for run in runs]
    assert ["first", "double"] == [span.instance[:-2] for span in runs[0].trace.spans]
    assert ["asks double"] == [line.text for line in runs[1].trace.spans[0].logs]
    folders = [
        parts_of(server).repository.private(name) for name in ("first", "second")
    ]
    assert [str(folder.version_dir(1)) for folder in folders] == stage.seen


def test_an_installed_package_that_no_model_calls_is_refused(server, package):
    """It is refused like any code outside a model."""
    server.define("double", DOUBLE, config=CONFIG)
    import asks_models

    with pytest.raises(Exception, match="BLS is only supported during the 'execute'"):
        asks_models.asked([])


def test_a_name_of_the_notebook_is_not_seen(server):
    """A model only has its own globals and Python's."""
    body = "stage.seen.append(sorted(set(globals()) & {'server', 'X', 'pytest'}))"
    server.define(
        "model", cell(f"{body}\nreturn [reply(x_of(request))]"), config=CONFIG
    )
    server.infer("model", X)

    assert [[]] == stage.seen
    assert builtins.print is print


def test_prints_land_in_the_call_and_in_the_cell(server, capsys):
    """Prints of model and helpers keep ``sep`` and ``end``."""
    body = "print('a', 1, sep='-')\nhelper.say()\nreturn [reply(x_of(request))]"
    server.define(
        "model",
        "import helper\n" + cell(body),
        config=CONFIG,
        files={"helper.py": "def say():\n    print('b', end='')\n"},
    )
    run = server.infer("model", X)

    assert "a-1\nb" == capsys.readouterr().out
    assert [("PRINT", "a-1\n"), ("PRINT", "b")] == [
        (line.level, line.text) for line in run.trace.spans[0].logs
    ]


def test_a_print_to_a_file_is_not_recorded(server, capsys):
    """Text printed to a file is not a line of the call."""
    body = "import sys\nprint('x', file=sys.stderr)\nreturn [reply(x_of(request))]"
    server.define("model", cell(body), config=CONFIG)

    assert () == server.infer("model", X).trace.spans[0].logs
    assert "x\n" == capsys.readouterr().err


def test_modules_are_removed_with_the_model(server):
    """After an unload ``sys.modules`` has none of them."""
    before = set(sys.modules)
    source = with_import("import helper", "helper.FACTOR")
    server.define("model", source, config=CONFIG, files={"helper.py": "FACTOR = 2"})
    loaded = set(sys.modules) - before

    server.unload("model")

    assert every(name.startswith("_blsnb_") for name in loaded)
    assert before == set(sys.modules)


def test_nothing_keeps_the_class_of_a_model_whose_server_is_closed():
    """With its module it would keep the server and the values of its runs."""
    source = f"{DOUBLE}\nstage.seen.append(weakref.ref(TritonPythonModel))\n"
    with Server() as server:
        server.define("model", f"import weakref\n{source}", config=CONFIG)
        server.infer("model", X)
    del server
    gc.collect()

    assert stage.seen[-1]() is None


def test_paths_are_forgotten_with_the_model(server):
    """Python's caches keep those of a model whose name begins with this one."""
    source = with_import("import helper", "helper.FACTOR")
    folders = []
    for name in ("two", "two_more"):
        server.define(name, source, config=CONFIG, files={"helper.py": "FACTOR = 2"})
        folder = parts_of(server).repository.private(name).version_dir(1)
        linecache.getlines(str(folder / "model.py"))
        folders.append(str(folder))
    assert folders == [each for each in folders if each in sys.path_importer_cache]

    server.unload("two")

    assert folders[1:] == [each for each in folders if each in sys.path_importer_cache]
    files = [f"{each}/model.py" for each in folders]
    assert files[1:] == [each for each in files if each in linecache.cache]


def test_an_import_of_another_thread_does_not_disturb_a_load(server, monkeypatch):
    """Python walks through a dictionary that each import may change."""
    forget = importlib.invalidate_caches
    failures = iter([RuntimeError("dictionary changed size during iteration")] * 3)

    def interrupted() -> None:
        for error in failures:
            raise error
        forget()

    monkeypatch.setattr(importlib, "invalidate_caches", interrupted)
    server.define("double", DOUBLE, config=CONFIG)

    assert [2, 4] == result(server, "double")
    assert [] == list(failures)


def test_a_failed_import_leaves_no_module(server):
    """Imported siblings are removed, too."""
    before = set(sys.modules)

    with pytest.raises(ModelLoadError):
        server.define(
            "model",
            "import helper\nimport no_such_module\n",
            config=CONFIG,
            files={"helper.py": ""},
        )

    assert before == set(sys.modules)


def test_import_module_finds_a_file_beside_the_model(server):
    """It finds the same file as the statement and keeps the bare name free."""
    source = cell(
        """
        import importlib, helper
        same = importlib.import_module("helper") is helper
        return [reply(x_of(request) * same)]
        """
    )
    server.define("model", source, config=CONFIG, files={"helper.py": "VALUE = 1\n"})

    assert [1, 2] == result(server, "model")
    assert "helper" not in sys.modules


def test_a_file_beside_the_model_is_no_part_of_an_installed_package(server):
    """It has a name of its own."""
    line = "import importlib, json\n"
    body = "importlib.import_module('json.helper')\nreturn []"
    server.define("m", line + cell(body), config=CONFIG, files={"helper.py": ""})

    with pytest.raises(InferenceError, match=r"No module named 'json\.helper'"):
        server.infer("m", X)


def test_a_second_ctrl_c_leaves_no_module_of_an_instance_behind(server):
    """It may come at any line of closing; the first Ctrl-C ended the request."""

    def closing(line: int) -> tuple[bool, list[str]]:
        server.define("m", with_import("import helper", "1"), config=CONFIG,
                      files={"helper.py": ""})  # fmt: skip
        pool = parts_of(server).engine.catalog.find("m", -1).pool
        (instance,) = pool.instances
        package = instance.own_modules.package
        root = RootRequest(RunRecord(""), 60)
        root.end(KeyboardInterrupt())
        fault = LineFault(line, ["engine/instance/instance_modules.py"], press_ctrl_c)
        with (
            contextlib.suppress(KeyboardInterrupt),
            interruptible(root, RootRequest.complete),
        ):
            fault.during(instance.discard)
        return bool(fault.where), [name for name in sys.modules if package in name]

    found = [closing(line) for line in range(1, 12)]

    assert found[0][0]
    assert [[]] * len(found) == [left for _, left in found]
