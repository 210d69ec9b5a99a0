"""Faults in statements of the recorder, beside a real server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tritonclient.grpc import InferInput
from tritonclient.utils import InferenceServerException

from . import injected_faults
from .conftest import decoupled
from .fault_lines import REPEATED, named_lines, unguarded_lines
from .production import BODIES, COMPLETE, Production, serving, write_models

MODELS = tuple(BODIES)
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {
        "tensor_bytes": 2,
        "redact_ids": ["request_id"],
        "redact_parameters": ["token"],
        "redact_errors": ["*"],
        "errors_only": True,
        "slower_than_ms": 0.001,
        "total_bytes": 3000,
    },
    {"redact_tensors": ["X"], "file_bytes": 1, "trace": False},
    {"rate": 0.0},
)
"""Settings that reach different lines."""
NONE = {"models": ["none"]}
"""Settings with which nothing is recorded."""
SAMPLE = 24
"""Number of lines with a fault in the short test."""
SHARE = 0.8
"""Minimum share of the statements in functions that the requests reach."""
MISSED = 0.05
"""Maximum share of the faults that do not happen: threads do not always take the same
way."""
PTH = f"""\
import os; exec("import injected_faults; injected_faults.start()") \
if os.environ.get("{injected_faults.FOLDER}") else None
"""

pytestmark = pytest.mark.triton_server


class Place(NamedTuple):
    """Where a fault happens: a model, with settings that reach the line."""

    line: int
    model: str
    settings: dict[str, Any] | None


class Server:
    """A real server whose models obey commands about faults."""

    def __init__(self, production: Production, folder: Path) -> None:
        self.production = production
        self.folder = folder
        self.numbers = dict.fromkeys(MODELS, 0)

    def order(self, model: str, line: int, settings: dict[str, Any]) -> Any:
        """Begin another recording with a fault; return the report on the last one."""
        self.write(model, line, settings)
        self.answers(model)
        return json.loads((self.folder / f"{model}.report").read_text())

    def answers(self, model: str) -> list[Any]:
        """Return what clients receive for a good request and one that fails."""
        return [self.answer(model, value) for value in (3.0, -1.0)]

    def answer(self, model: str, value: float) -> Any:
        """Return what a client receives for a value; `streams` calls `counts`."""
        if model == "late":
            return decoupled(self.production, model, [abs(value)])
        given = InferInput("X", [1], "FP32")
        given.set_data_from_numpy(np.array([value], np.float32))
        name = "streams" if model == "counts" else model
        client = self.production.client
        try:
            answer = client.infer(
                name, [given], parameters={"token": "t"}, client_timeout=60
            )
        except InferenceServerException as error:
            return without_harness(error.message())
        return answer.as_numpy("Y").tolist()

    def restarted(self, model: str, line: int) -> Any:
        """Return the answers of a new process that has a fault as it starts."""
        self.write(model, line, {})
        client = self.production.client
        try:
            client.unload_model(model)
            client.load_model(model)
            return self.answers(model)
        except InferenceServerException as error:
            return error.message()
        finally:
            self.write(model, 0, NONE)
            client.load_model(model)

    def last_fault(self, model: str) -> int:
        """Return the line of the last fault of a model."""
        path = self.folder / f"{model}.happened"
        return int(path.read_text()) if path.exists() else 0

    def write(self, model: str, line: int, settings: dict[str, Any]) -> None:
        """Write what a model does at its next requests."""
        self.numbers[model] += 1
        write_command(self.folder, model, self.numbers[model], line, settings)


def without_harness(text: str) -> str:
    """Return an error text without frames of the functions that read commands."""
    lines = text.splitlines(keepends=True)
    return "".join(each for each in lines if "injected_faults.py" not in each)


def write_command(folder: Path, model: str, *command: Any) -> None:
    """Write what a model does at its next request."""
    new = folder / f"{model}.command"
    new.write_text(json.dumps(command))
    new.replace(folder / model)


@pytest.fixture
def faulty(recorded_env, tmp_path, monkeypatch) -> Iterator[tuple[Server, Path]]:
    """A server with faults, and the file of the recorder."""
    [recorder] = Path(recorded_env.python).parents[1].rglob("blsnb_recorder.py")
    folder = tmp_path / "faults"
    folder.mkdir()
    for model in MODELS:
        write_command(folder, model, 0, 0, {})
    monkeypatch.setenv(injected_faults.FOLDER, str(folder))
    monkeypatch.setenv("BLSNB_RECORD", str(tmp_path / "recording"))
    repository = write_models(tmp_path / "models")
    source = recorder.with_name("injected_faults.py")
    # Before the recorder's own: files are read in the order of their names.
    pth = recorder.with_name("a_injected_faults.pth")
    shutil.copy(injected_faults.__file__, source)
    pth.write_text(PTH)
    try:
        log = tmp_path / "log"
        with serving(recorded_env, repository, log, flags=COMPLETE) as running:
            yield Server(running, folder), recorder
    finally:
        pth.unlink()
        source.unlink()


def rehearse(server: Server) -> dict[int, list[Place]]:
    """Return the places that reach each line; settings are None for a start."""
    found: dict[int, list[Place]] = {}
    for model in MODELS:
        starting = server.order(model, 0, NONE)["reached"]
        for settings in SETTINGS:
            server.order(model, 0, settings)
            server.answers(model)
            for line in server.order(model, 0, NONE)["reached"]:
                found.setdefault(line, []).append(Place(line, model, settings))
        for line in starting:
            found.setdefault(line, []).append(Place(line, model, None))
    return found


def guarded(recorder: Path) -> set[int]:
    """Return the lines of the recorder's functions that can have a fault."""
    _, lines = injected_faults.with_calls(recorder.read_text())
    return lines - unguarded_lines(recorder)


def chosen(places: dict[int, list[Place]], count: int) -> list[Place]:
    """Return a place for each of some lines, of all models in turn."""
    running, starting = [], []
    for number, line in enumerate(sorted(places)):
        found = [place for place in places[line] if place.settings is not None]
        if found:
            running.append(found[number % len(found)])
        else:
            starting.append(places[line][number % len(places[line])])
    few = count // 20
    return [*spread(running, count), *spread(starting, few)]


def spread(places: list[Place], count: int) -> list[Place]:
    """Return some places, at equal distances."""
    return places[:: max(1, len(places) // count)]


def inject(server: Server, place: Place) -> tuple[Any, bool]:
    """Return the answers beside a fault, and whether the recording ended."""
    if place.settings is None:
        return server.restarted(place.model, place.line), True
    server.order(place.model, place.line, place.settings)
    found = server.answers(place.model)
    return found, server.order(place.model, 0, NONE)["ended"]


def check(
    faulty: tuple[Server, Path], count: int, figures: Callable[..., None]
) -> None:
    """Inject faults and compare the answers."""
    server, recorder = faulty
    lines = guarded(recorder)
    places = {line: found for line, found in rehearse(server).items() if line in lines}
    expected = {model: server.answers(model) for model in MODELS}
    changed, missed, continued = [], [], []
    picked = chosen(places, count)
    for place in picked:
        found, ended = inject(server, place)
        if found != expected[place.model]:
            changed.append((place, found))
        if server.last_fault(place.model) != place.line:
            missed.append(place)
        elif not ended:
            continued.append(place.line)

    figures(faults=len(picked), missed=len(missed), reached=len(places), of=len(lines))

    assert [] == changed
    assert [] == sorted(set(continued) - named_lines(recorder, REPEATED))
    assert len(places) >= SHARE * len(lines), sorted(lines - places.keys())
    assert len(missed) <= MISSED * len(picked), missed


@pytest.mark.timeout(180)  # A busy machine starts the real server slowly.
def test_a_fault_in_a_line_of_the_recorder_changes_no_answer(faulty, figures):
    """It ends the recording of the model's process."""
    check(faulty, SAMPLE, figures)


@pytest.mark.slow
@pytest.mark.timeout(1800)  # Some hundred lines, each with a new recording.
def test_a_fault_in_any_line_of_the_recorder_changes_no_answer(faulty, figures):
    """Each line that the requests reach has one once."""
    check(faulty, 100_000, figures)
