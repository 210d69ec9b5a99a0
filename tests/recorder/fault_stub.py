"""Faults in every line of the recorder that a recording executes.

usage: fault_stub.py RECORDER [STEP]

Prints, as JSON, the number of lines with a fault, and those that changed an answer or
did not end the recording. STEP is the distance between two lines.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
import threading

import fake_stub
from fault_lines import REPEATED, named_lines, unguarded_lines

VARIANTS = (
    {},
    {
        "tensor_bytes": 2,
        "redact_ids": ("request_id",),
        "redact_parameters": ("token",),
        "redact_errors": ("*",),
        "errors_only": True,
        "slower_than_ms": 0.001,
        "total_bytes": 3000,
    },
    {"rate": 0.5, "redact_tensors": ("X",), "file_bytes": 1, "trace": False},
)
"""Settings that reach different lines."""


class InjectedFault(Exception):
    """A fault inside the recorder."""


class Rehearsal:
    """Runs the models with a recorder whose lines are observed."""

    def __init__(self, path, variant):
        self.recorder = fake_stub.load(path)
        self.variant = variant
        self.path = path
        self.lines = set()
        self.fault_at = None
        self.happened = False
        self.recording = None
        # CPython 3.11 may call the trace function of a thread once more after a fault
        # has removed it there: this reference keeps it alive.
        self.tracer = self.trace

    def trace(self, frame, event, arg):
        """Observe the frames of this recorder, not of one whose handles live longer."""
        return self.line if frame.f_globals is vars(self.recorder) else None

    def line(self, frame, event, arg):
        """Note a line, and raise the fault at its line once."""
        if event == "line":
            self.lines.add(frame.f_lineno)
            if frame.f_lineno == self.fault_at and not self.happened:
                self.happened = True
                raise InjectedFault(f"line {self.fault_at}")
        return self.line

    def answers(self, fault_at=None):
        """Return the answers of all models."""
        self.fault_at = fault_at
        backend = fake_stub.fake_backend()
        module = fake_stub.models(backend)
        folder = tempfile.mkdtemp()
        settings = self.recorder.RecorderSettings(folder, **self.variant)
        threading.settrace(self.tracer)
        sys.settrace(self.tracer)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                self.recording = fake_stub.begin(
                    self.recorder, settings, backend, module
                )
                found = fake_stub.answers_of(module)
                self.join_threads()
                if self.recording is not None:
                    self.recording.close()
                    self.join_writer()
        finally:
            sys.settrace(None)
            threading.settrace(None)
            shutil.rmtree(folder)
        return found

    def join_threads(self):
        """Wait for the threads of the models."""
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join(fake_stub.WAIT_S)

    def join_writer(self):
        """Wait for the thread that writes, whose fault ends the recording."""
        writer = self.recording._files._thread
        # A fault may come before its start.
        if writer is not None and writer.ident is not None:
            writer.join(fake_stub.WAIT_S)
            assert not writer.is_alive()

    def end(self):
        """Put the functions of the backend back."""
        if self.recording is not None:
            with contextlib.redirect_stderr(io.StringIO()):
                self.recording.fail(InjectedFault("the rehearsal is over"))


def own_functions():
    """Return the backend's attributes that a recording replaces."""
    request = fake_stub.InferenceRequest
    return [
        request.__init__,
        request.exec,
        request.async_exec,
        request.get_response_sender,
        fake_stub.InferenceResponseSender.send,
        fake_stub.ResponseIterator.__next__,
        threading.Thread.start,
    ]


def main(path, step=1):
    """Print the lines where a fault was noticed."""
    before = own_functions()
    expected = Rehearsal(path, {"models": ("none",)}).answers()
    variants = {}
    for variant in VARIANTS:
        rehearsal = Rehearsal(path, variant)
        assert rehearsal.answers() == expected
        rehearsal.end()
        for line in rehearsal.lines:
            variants.setdefault(line, variant)
    lines = sorted(set(variants) - unguarded_lines(path))[:: int(step)]
    repeated = named_lines(path, REPEATED)
    changed, continued, missed = [], [], 0
    for line in lines:
        rehearsal = Rehearsal(path, variants[line])
        answers = rehearsal.answers(line)
        if answers != expected:
            changed.append(line)
        missed += not rehearsal.happened
        recording = rehearsal.recording
        ended = recording is None or recording.faults or line in repeated
        restored = line in repeated or own_functions() == before
        if rehearsal.happened and not (ended and restored):
            continued.append(line)
        rehearsal.end()
    figures = {
        "lines": len(lines),
        "missed": missed,
        "changed": changed,
        "continued": continued,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
