"""Models that load, unload and query other models."""

import pytest

from .asking import apart, run
from .covering import rows

SETUP = '''
A = np.ones(4, dtype=np.float32)
def declared(*outputs):
    tensors = [{"name": n, "data_type": "TYPE_FP32", "dims": [4]} for n in ("A", "B")]
    made = [{"name": n, "data_type": "TYPE_FP32", "dims": [4]} for n in outputs]
    return json.dumps({"backend": "python", "input": tensors, "output": made})
def add(*outputs):
    see(bls("add", outputs, ("A", A), ("B", A)))
SOURCE = b"""
import os
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.args = args
    def execute(self, requests):
        folder = self.args["model_repository"]
        seen = (pb_utils.get_model_dir(), folder, __file__, sorted(os.listdir(folder)))
        raise ValueError(repr(seen))
"""
EMPTY = b"class TritonPythonModel: pass"
RAISING = EMPTY.replace(b"pass", b"execute = lambda self, requests: 1 / %d")
FILES = {"file:1/model.py": RAISING % 0}
def given(name="given"):
    see(bls(name, [], ("A", A), ("B", A)))
BARE = json.dumps({"backend": "python"})
'''


def changing(target, code, *models):
    """Run text that may load and unload models."""
    try:
        return run(target, f"{SETUP}\nif True:\n    {code.strip()}\n", *models)
    finally:
        for name in ("given", *models):
            target.unload(name, wait=False)


REFUSED = {
    "an unknown model": 'pb_utils.load_model("nope")',
    "a configuration that is no JSON": 'pb_utils.load_model("add", "{")',
    "an unknown field": 'pb_utils.load_model("add", \'{"bogus": 1}\')',
    "another name": 'pb_utils.load_model("add", \'{"name": "other"}\')',
    "files without configuration": (
        'pb_utils.load_model("given", files={"file:1/model.py": EMPTY})'
    ),
    "no files": 'pb_utils.load_model("given", BARE, {})',
    "a key without file:": 'pb_utils.load_model("given", BARE, {"1/model.py": EMPTY})',
    "a path that leads out": (
        'pb_utils.load_model("given", BARE, {"file:../model.py": EMPTY})'
    ),
    "a folder": 'pb_utils.load_model("given", BARE, {"file:1/": b"x"})',
    "a file as a folder": 'pb_utils.load_model("given", BARE, {"file:1/x/": b"x"})',
    "no version": 'pb_utils.load_model("given", BARE, {"file:model.py": EMPTY})',
    "an empty file": 'pb_utils.load_model("given", BARE, {"file:1/model.py": b""})',
    "a model that does not load": 'pb_utils.load_model("broken_initialize")',
    "a version -1": 'pb_utils.is_model_ready("add", "-1")',
}


@rows(
    "12/load_model-model_name-config-files-none",
    "12/is_model_ready-model_name-model_version",
)
def test_the_server_refuses(agree):
    """Each is an error that names the instance and the reason: of a failed load the
    whole text, with the model's own frames.
    """
    codes = {
        name: f"{SETUP}trial(lambda: {action})" for name, action in REFUSED.items()
    }

    agree(lambda target: apart(target, codes, "add", "broken_initialize"))


DONE = {
    "load again": 'trial(lambda: pb_utils.load_model("add")); add("SUM")',
    "unload and load": """
    trial(lambda: pb_utils.unload_model("add"))
    see(pb_utils.is_model_ready("add")); add("SUM")
    trial(lambda: pb_utils.load_model("add"))
    see(pb_utils.is_model_ready("add")); add("SUM")
    """,
    "unload twice": """
    for name in ("add", "add", "nope", ""):
        trial(lambda: pb_utils.unload_model(name)); see(pb_utils.is_model_ready(name))
    """,
    "unload dependents": """
    trial(lambda: pb_utils.unload_model("add", unload_dependents=True))
    see(pb_utils.is_model_ready("add"))
    """,
    "ready": """
    for version in ("1", "2", "0", ""):
        trial(lambda: pb_utils.is_model_ready("add", version))
    trial(lambda: pb_utils.is_model_ready("add"))
    trial(lambda: pb_utils.is_model_ready(""))
    """,
    "another configuration": """
    trial(lambda: pb_utils.load_model("add", declared("SUM")))
    add("SUM"); add("DIFFERENCE")
    """,
    "a plain load keeps it": """
    pb_utils.load_model("add", config=declared("SUM"))
    trial(lambda: pb_utils.load_model("add")); add("DIFFERENCE")
    """,
    "unloading forgets it": """
    pb_utils.load_model("add", declared("SUM"))
    pb_utils.unload_model("add"); pb_utils.load_model("add"); add("DIFFERENCE")
    """,
    "no files are no override": """
    pb_utils.load_model("add", declared("SUM"), {}); add("SUM"); add("DIFFERENCE")
    """,
    "given files": """
    files = {"file:1/model.py": SOURCE}
    trial(lambda: pb_utils.load_model("given", declared("SUM"), files))
    see(pb_utils.is_model_ready("given"), bls("given", [], ("A", A), ("B", A)))
    """,
    "given files of an equal configuration": """
    pb_utils.load_model("given", declared("SUM"), FILES); given()
    pb_utils.load_model("given", declared("SUM"), {"file:1/model.py": SOURCE}); given()
    """,
    "given files of another configuration": """
    pb_utils.load_model("given", declared("SUM"), {"file:1/model.py": SOURCE}); given()
    pb_utils.load_model("given", declared("DIFFERENCE"), FILES); given()
    """,
    "given files, then the folder": """
    pb_utils.load_model("add", declared("SUM"), FILES); given("add")
    pb_utils.load_model("add"); add("DIFFERENCE")
    """,
    "a path from the root": """
    files = {"file:/x/../1/model.py": RAISING % 0}
    trial(lambda: pb_utils.load_model("given", declared("SUM"), files)); given()
    """,
    "a configuration among the files": """
    files = {**FILES, "file:config.pbtxt": bytes(RAISING % 0)}
    trial(lambda: pb_utils.load_model("given", declared("SUM"), files)); given()
    """,
    "texts with a NUL": """
    pb_utils.load_model("given\\0x", BARE + "\\0x", FILES); given()
    see([pb_utils.is_model_ready(name) for name in ("given", "given\\0x", "\\0")])
    see(pb_utils.unload_model("given\\0x"), pb_utils.is_model_ready("given"))
    """,
    "given files, again": """
    trial(lambda: pb_utils.load_model("given", BARE, {"file:2/model.py": EMPTY}))
    see([pb_utils.is_model_ready("given", version) for version in ("", "1", "2", "3")])
    trial(lambda: pb_utils.load_model("given", BARE, {"file:3/model.py": EMPTY}))
    see([pb_utils.is_model_ready("given", version) for version in ("", "1", "2", "3")])
    """,
}


def test_unloading_forgets_given_files(agree):
    """A plain load finds no model then."""
    code = """
    pb_utils.load_model("given", declared("SUM"), {"file:1/model.py": SOURCE})
    pb_utils.unload_model("given"); see(pb_utils.is_model_ready("given"))
    trial(lambda: pb_utils.load_model("given"))
    """
    agree(lambda target: apart(target, {"": f"{SETUP}\nif True:{code}"}))


@rows(
    {
        "load again": "12/load_model-model_name-config-files-none",
        "unload and load": "12/unload_model-model_name-unload_dependents-false",
        "unload twice": "12/unload_model-model_name-unload_dependents-false",
        "ready": "12/is_model_ready-model_name-model_version",
        "another configuration": "r1.4/config-string-json-model-config",
        "given files": "r1.4/file-relative-path-base64-content",
        "a plain load keeps it": "r1.4/undo",
    }
)
@pytest.mark.parametrize("code", DONE.values(), ids=DONE)
def test_models_come_and_go(agree, code):
    """A load returns when the model is ready; an unload takes effect at once."""
    agree(lambda target: changing(target, code, "add"))


ARGUMENTS = {
    "load_model": """
        for args in ((), (1,), (None,), ("m", {}), ("m", None), ("m", "", None, 1)):
            trial(lambda: pb_utils.load_model(*args))
        trial(lambda: pb_utils.load_model("m", files=[]))
        trial(lambda: pb_utils.load_model("m", "", "x"))
        trial(lambda: pb_utils.load_model("m", "", {1: b"x"}))
        for content in ("x", bytearray(b"x"), None, 3):
            trial(lambda: pb_utils.load_model("m", "", {"file:1/model.py": content}))
        trial(lambda: pb_utils.load_model("m", more=1))
        """,
    "unload_model": """
        for args in ((), (1,), ("m", "x"), ("m", None), ("m", 1.5, 2), ("m", [])):
            trial(lambda: pb_utils.unload_model(*args))
        for flag in (1, 0, np.bool_(True), 2.5):
            trial(lambda: pb_utils.unload_model("nope", flag))
        trial(lambda: pb_utils.unload_model(b"nope"))
        """,
    "is_model_ready": """
        for args in ((), (1,), ("m", 1), ("m", None), ("m", "1", 2)):
            trial(lambda: pb_utils.is_model_ready(*args))
        trial(lambda: pb_utils.is_model_ready(b"nope", b"1"))
        """,
}


@pytest.mark.parametrize("code", ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_are_checked(agree, code):
    """Each wrong argument is an error of the same class and text."""
    agree(lambda target: run(target, f"if True:{code}"))
