"""Changes of a ready model: instances, versions, and what they leave unchanged."""

from __future__ import annotations

import json

import pytest
from waiting import until

from .covering import rows
from .elsewhere import CONFIG, elsewhere, make_newest, unlike_before

TELLING = """
import json
import os

import numpy as np
import triton_python_backend_utils as pb_utils

NOTES = "{notes}"


class TritonPythonModel:
    def initialize(self, args):
        self.args = args
        groups = json.loads(args["model_config"])["instance_group"]
        self.note("initialize", [[each["name"], each["count"]] for each in groups])
        if os.path.exists(os.path.join(NOTES, "fail")):
            raise ValueError("no")

    def note(self, *what):
        names = ("model_version", "model_instance_name", "model_instance_kind")
        with open(os.path.join(NOTES, "seen"), "a") as file:
            known = [self.args[name] for name in names]
            file.write(json.dumps([*what, *known]) + chr(10))

    def execute(self, requests):
        y = pb_utils.Tensor("Y", np.array([{answer}], np.int32))
        return [pb_utils.InferenceResponse([y]) for _ in requests]

    def finalize(self):
        self.note("finalize")
"""


class Told:
    """A model in a repository whose instances log their hooks."""

    def __init__(self, folder):
        self.folder = folder / "models" / "m"
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.folder.mkdir(parents=True)

    def version(self, number, answer):
        """Write a version that returns a number."""
        path = self.folder / str(number) / "model.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(unlike_before(TELLING.format(notes=self.notes, answer=answer)))
        make_newest(path)

    def config(self, more="", groups=()):
        """Write the configuration, with instance groups of given sizes."""
        said = [f"{{ {group} }}" for group in groups]
        more += f" instance_group [ {', '.join(said)} ]" if said else ""
        path = self.folder / "config.pbtxt"
        path.write_text(f"{CONFIG} {more}")
        make_newest(path)

    def fail(self, fails):
        """Let instances fail from now on, or let them be."""
        mark = self.notes / "fail"
        mark.touch() if fails else mark.unlink()

    def seen(self, hook=""):
        """Return the new log entries of a hook, or of all; then clear them."""
        path = self.notes / "seen"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(line for line in lines if hook in line)

    def settle(self, server):
        """Load until nothing is new: compiled Python files make a folder newer."""
        said = [server.load("m"), server.load("m")]
        copies = sum("initialize" in line for line in self.told())
        # All but those that serve now are finalized, in the background.
        until(lambda: copies - 1 == sum("fin" in line for line in self.told()))
        self.seen()
        return said

    def look(self, server, asked):
        """Load; return the state of the model and the results of some requests."""
        seen = [server.load("m"), self.seen(), server.index(), server.infer("m")]
        # Triton counts a little later.
        until(lambda: server.counted("m")[0] == asked)
        return [*seen, server.counted("m")]

    def told(self):
        """Return the new log entries, and keep them."""
        path = self.notes / "seen"
        return path.read_text().splitlines() if path.exists() else []


GROUPS = {
    "from one to two": [["count: 2"]],
    "from one to three, and back": [["count: 3"], ["count: 1"], ["count: 2"]],
    "another name": [['name: "g" count: 1'], ['name: "h" count: 2'], ["count: 1"]],
    "another kind": [["count: 1 kind: KIND_MODEL"]],
    "a second group": [["count: 1", "count: 1 kind: KIND_MODEL"], ["kind: KIND_MODEL"]],
    "a group that cannot be": [["kind: KIND_GPU"], ["gpus: 0"], ["count: 2"]],
}
SHORT = "from one to two"
CASES = [
    pytest.param(steps, id=name, marks=() if name == SHORT else pytest.mark.slow)
    for name, steps in GROUPS.items()
]


@pytest.mark.parametrize("steps", CASES)
@rows("r1.4/reload-while-serving")
def test_instances_come_and_go(agree, folders, steps):
    """Instances are created under their own names and with the configuration of the
    first ones; the others keep their state.
    """

    def case(target):
        model = Told(folder := folders())
        model.version(1, 1)
        model.config()
        seen = []
        with elsewhere(target, folder) as server:
            seen.append(model.settle(server))
            for groups in steps:
                # One at a time: which of two is made first is not defined.
                for count in rising(groups):
                    model.config(groups=count)
                    seen.append(model.look(server, len(seen)))
        return seen

    agree(case)


def rising(groups):
    """Yield groups that grow by one instance up to the given ones."""
    if groups == ["count: 3"]:
        yield ["count: 2"]
    yield groups


@pytest.mark.slow
def test_an_instance_that_fails_changes_nothing(agree, folders):
    """The index has the reason, and the next load tries again."""

    def case(target):
        model = Told(folder := folders())
        model.version(1, 1)
        model.config()
        seen = []
        with elsewhere(target, folder) as server:
            seen.append(model.settle(server))
            model.config(groups=["count: 2"])
            model.fail(True)
            for asked in (1, 2):
                seen.append(model.look(server, asked))
            model.fail(False)
            seen.append(model.look(server, 3))
        return json.loads(json.dumps(seen).replace(str(folder), "<folder>"))

    agree(case)


ALL = "version_policy { all {} }"
ONLY_2 = "version_policy { specific { versions: [ 2 ] } }"


@pytest.mark.slow
@rows("r1.4/change-in-one-version-of-an", "r1.3/poll-repository-poll-secs-default-15")
def test_only_what_changed_is_loaded_anew(agree, folders):
    """One version, all for a shared file, none for another version policy."""

    def case(target):
        model = Told(folder := folders())
        model.version(1, 1)
        model.version(2, 2)
        model.config(ALL)
        seen = []
        with elsewhere(target, folder) as server:

            def look():
                answers = [server.load("m"), model.seen("initialize"), server.index()]
                answers += [server.infer("m", version) for version in "12"]
                # A file that Python has compiled makes its version newer.
                server.load("m")
                model.seen()
                seen.append(answers)

            look()
            model.version(2, 3)
            look()
            model.version(1, 4)
            look()
            (model.folder / "labels.txt").write_text("a")
            make_newest(model.folder / "labels.txt")
            look()
            (model.folder / "shared").mkdir()
            make_newest(model.folder / "shared")
            look()
            model.config(ONLY_2)
            look()
            model.config(ALL)
            look()
            model.fail(True)
            model.version(2, 5)
            look()
            model.fail(False)
            look()
            model.config(f'{ALL} parameters {{ key: "a" }}')
            look()
        return json.loads(json.dumps(seen).replace(str(folder), "<folder>"))

    agree(case)


@pytest.mark.slow
def test_an_override_of_instances_alone_loads_nothing_anew(agree, folders):
    """It is compared by its contents, as a changed file is."""

    def case(target):
        model = Told(folder := folders())
        model.version(1, 1)
        model.config()
        output = {"name": "Y", "data_type": "TYPE_INT32", "dims": [1]}
        given = {"backend": "python", "output": [output]}
        seen = []
        with elsewhere(target, folder) as server:
            seen.append(model.settle(server))
            for count in (2, 2, 3):
                config = {**given, "instance_group": [{"count": count}]}
                seen += [server.load("m", config), model.seen(), server.infer("m")]
            seen.append(model.look(server, 4))
            model.config(groups=["count: 1"])
            seen.append(model.look(server, 5))
        return seen

    agree(case)
