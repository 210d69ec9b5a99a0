"""Faults in statements of the recorder, inside the Python of a real server's models.

A ``.pth`` file imports this module before the recorder. Each statement of the
recorder's functions is then preceded by a call that notes its line and, at the line of
a command, raises once. This needs no trace function, which the threads of the server's
C++ code would lose.

The folder of BLSNB_TEST_FAULTS has a file for each model with its command: a number, a
line, and settings. A model reads it when it executes a request. The first request after
a new command ends the recording and reports about it, the second one begins another.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading

FOLDER = "BLSNB_TEST_FAULTS"
MODULE = "blsnb_recorder"


class InjectedFault(Exception):
    """A fault inside the recorder."""


class Faults:
    """Raises once at one line, and notes the lines that are executed."""

    def __init__(self):
        self.path = os.devnull
        self.arm(0)

    def arm(self, line):
        """Raise at a line from now on; at 0 only note lines."""
        self.line = line
        self.happened = False
        self.reached = set()

    def __call__(self, line):
        self.reached.add(line)
        if line == self.line and not self.happened:
            self.happened = True
            with open(self.path, "w") as file:
                file.write(str(line))
            raise InjectedFault(f"line {line}")


class Statements(ast.NodeTransformer):
    """Puts a call before each statement of a function."""

    def __init__(self):
        self.lines = set()

    def visit_FunctionDef(self, node):
        """Change the body of a function."""
        self.generic_visit(node)
        for each in ast.walk(node):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(each, name, None)
                if isinstance(block, list) and not isinstance(each, ast.ClassDef):
                    setattr(each, name, self.preceded(block))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def preceded(self, block):
        """Return the statements with a call before each."""
        found = []
        for statement in block:
            preceded = found and is_call(found[-1])
            if can_fail(statement) and not preceded:
                found.append(self.call(statement.lineno))
            found.append(statement)
        return found

    def call(self, line):
        """Return the statement that notes a line."""
        self.lines.add(line)
        return ast.parse(f"_fault({line})").body[0]


def can_fail(statement):
    """Whether a statement is neither a docstring nor a call nor `try` itself."""
    if isinstance(statement, ast.Try) or is_call(statement):
        return False
    value = getattr(statement, "value", None)
    return not (isinstance(statement, ast.Expr) and isinstance(value, ast.Constant))


def is_call(statement):
    """Whether a statement notes a line."""
    value = getattr(statement, "value", None)
    name = getattr(getattr(value, "func", None), "id", None)
    return isinstance(statement, ast.Expr) and name == "_fault"


def with_calls(source):
    """Return the changed syntax tree of a source, and the lines that are noted."""
    statements = Statements()
    tree = statements.visit(ast.parse(source))
    for node in ast.walk(tree):
        if is_call(node):
            for each in ast.walk(node):
                each.lineno = each.end_lineno = node.value.args[0].value
    return ast.fix_missing_locations(tree), statements.lines


class Loader(importlib.machinery.SourceFileLoader):
    """Loads the recorder with faults."""

    def get_code(self, name):
        """Return the changed code, which no file keeps."""
        tree, _ = with_calls(self.get_data(self.path))
        return compile(tree, self.path, "exec")

    def exec_module(self, module):
        """Execute the recorder, and control its recordings."""
        module._fault = FAULTS
        super().exec_module(module)
        module._PAUSE_S = 0.001
        Control(module)


class Finder:
    """Finds the recorder."""

    def find_spec(self, name, path=None, target=None):
        """Return the specification of the recorder; None for other modules."""
        if name != MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name)
        return importlib.util.spec_from_loader(name, Loader(name, spec.origin))


class Control:
    """Begins and ends the recordings of this process by command.

    Parameters
    ----------
    recorder
        The module.
    """

    def __init__(self, recorder):
        with open("/proc/self/cmdline") as file:
            model = file.read().split("\0")[1].split("/")[-3]
        self.path = os.path.join(os.environ[FOLDER], model)
        self.begin = recorder.begin
        recorder.begin = self.first
        self.lock = threading.Lock()
        FAULTS.path = self.path + ".happened"
        self.number, line, _ = self.command()
        FAULTS.arm(line)

    def command(self):
        """Return number, line and settings of the command."""
        with open(self.path) as file:
            return json.load(file)

    def first(self, settings, backend, models):
        """Begin the recording of a new process."""
        self.arguments = settings, backend, models
        self.recording = Failed()
        for model in models:
            model.execute = self.controlled(model.execute)
        self.recording = self.begin(*self.arguments)
        return self.recording

    def controlled(self, execute):
        """Return an ``execute`` that reads the command."""

        @functools.wraps(execute)
        def call(*values):
            with self.lock:
                self.obey()
            return execute(*values)

        return call

    def obey(self):
        """End the recording at a new command, or begin the next one."""
        number, line, changes = self.command()
        if number == self.number:
            return
        if self.recording is not None:
            self.end()
            return
        self.number = number
        settings, backend, models = self.arguments
        FAULTS.arm(line)
        try:
            self.recording = self.begin(settings._replace(**changes), backend, models)
        except InjectedFault:
            self.recording = Failed()

    def end(self):
        """End the recording and report about it."""
        self.recording.close()
        ended = self.recording._ended
        report = {
            "ended": bool(self.recording.faults),
            "reached": sorted(FAULTS.reached),
        }
        if not ended:
            FAULTS.arm(0)
            self.recording.fail(InjectedFault("the next recording follows"))
        self.recording = None
        with open(self.path + ".new", "w") as file:
            json.dump(report, file)
        os.replace(self.path + ".new", self.path + ".report")


class Failed:
    """A recording that did not begin."""

    faults = 1
    _ended = True

    def close(self):
        """Write nothing."""


FAULTS = Faults()


def start():
    """Load the recorder with faults."""
    sys.meta_path.insert(0, Finder())
