"""Requests of the imitated stub that are not recorded, beside some that are.

usage: unrecorded_stub.py RECORDER

Prints, as JSON, the functions of the recorder that a request with a BLS call executes
when it is not recorded, and the contexts that BLS requests received. BLSNB_RECORD
receives a recorded request whose thread later works for one that is not recorded.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import sys
import weakref

import fake_stub

RECORDED, LEFT_OUT = 0.0, 1.0
"""Random numbers that decide about a request."""
WORKER = """
import queue


class Worker:
    def __init__(self):
        self.work = queue.Queue()
        self.done = queue.Queue()
        self.thread = None

    def execute(self, requests):
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()
        for each in requests:
            self.work.put((each.get_response_sender(), value_of(each)))

    def run(self):
        while True:
            sender, value = self.work.get()
            request("one", value).exec()
            self.done.put(sender)
"""


class Stub:
    """The models with a recorder, and the traces that their BLS requests receive."""

    def __init__(self, path, **settings):
        self.path = path
        backend = fake_stub.fake_backend()
        self.models = fake_stub.models(backend)
        recorder = fake_stub.load(path)
        values = recorder.read_settings(os.environ)._replace(**settings)
        self.recording = fake_stub.begin(recorder, values, backend, self.models)
        self.contexts = []
        self.called = fake_stub.called
        fake_stub.called = self.call

    def call(self, request):
        """Note the trace of a BLS request."""
        trace = request.given_trace
        self.contexts.append(trace and trace.get_context())
        return self.called(request)

    def functions(self):
        """Return the recorder's functions that one request executes, in order."""
        found = []

        def profile(frame, event, arg):
            if event == "call" and frame.f_code.co_filename == self.path:
                found.append(frame.f_code.co_name)

        model = self.models.Sync()
        requests = [fake_stub.received(1.0, 1.0)]
        sys.setprofile(profile)
        try:
            model.execute(requests)
        finally:
            sys.setprofile(None)
        return found

    def received_contexts(self):
        """Return the contexts of BLS calls for a traced request, and an untraced one.

        They are made in `execute`, by threads, by a thread pool and by coroutines.
        """
        found = {}
        for name in ("Sync", "Pools", "Sends", "Gathers"):
            for value in (1.0, 2.0):
                self.contexts.clear()
                fake_stub.answer_of(
                    getattr(self.models, name)(), [fake_stub.received(value, value)]
                )
                found[f"{name} {value}"] = sorted(set(self.contexts), key=str)
        return found

    def kept(self):
        """Return the models whose requests live after they were answered."""
        found = []
        for name in ("Sync", "Fails", "Sends", "Gathers"):
            request = fake_stub.received(1.0, 1.0)
            reference = weakref.ref(request)
            fake_stub.answer_of(getattr(self.models, name)(), [request])
            del request
            gc.collect()
            if reference() is not None:
                found.append(name)
        return found

    def end(self):
        """Write the recording and put the functions of the backend back."""
        self.recording.close()
        with contextlib.redirect_stderr(io.StringIO()):
            self.recording.fail(Exception("the test is over"))
        fake_stub.called = self.called


def work_for_two(path):
    """Let the thread of a recorded request call for another one beside it."""
    stub = Stub(path)
    draws = iter([RECORDED, LEFT_OUT, RECORDED])
    stub.recording._recorder._draw = stub.recording._executions.draw = lambda: next(
        draws
    )
    stub.recording._recorder._rate = 0.5
    model = stub.models.Worker()
    senders = []
    for value in (1.0, 2.0):
        model.execute([fake_stub.received(value, value)])
        senders.append(model.done.get(timeout=fake_stub.WAIT_S))
    for sender in senders:
        sender.send(flags=1)
    stub.end()


def main(path):
    """Print what was executed and received."""
    fake_stub.MODEL_SOURCE += WORKER
    fake_stub.MODELS += ("Worker",)
    figures = {}
    for name, rate, trace in (
        ("left out", 0.0, True),
        ("recorded", 1.0, True),
        ("without traces", 0.0, False),
    ):
        folder = os.environ["BLSNB_RECORD"] + " of another test"
        stub = Stub(path, rate=rate, trace=trace, folder=folder)
        stub.functions()
        functions = stub.functions()
        contexts = stub.received_contexts()
        figures[name] = {"functions": functions, "kept": stub.kept(), **contexts}
        stub.end()
    work_for_two(path)
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
