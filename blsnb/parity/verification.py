"""Verification: makes the same requests here and on a real server, and compares."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from blsnb.errors import RepositoryError, TritonServerError
from blsnb.files.owned import OwnedFolder, sweep
from blsnb.parity.agreement import Case
from blsnb.parity.blsnb_client import Ours
from blsnb.parity.cases import Asked, Cases, asked_of
from blsnb.parity.checks import EXACT, check
from blsnb.parity.parity import Parity
from blsnb.parity.real_run import real_run
from blsnb.parity.targets import Target, target_of
from blsnb.parity.triton.answers import NO_ANSWER, WOULD_HANG, Answer, Answers
from blsnb.parity.triton.client import Theirs
from blsnb.parity.triton.texts import plain
from blsnb.parts.server_parts import ServerParts
from blsnb.pb_utils.message import RequestMessage
from blsnb.tensors.tolerance import Tolerance
from blsnb.trace.events import ModelInfo

_HANG_S = 10.0
"""So long the real server is waited for where blsnb says that it never answers."""
_RELEASES = {"2.51.0": (24, 10)}
_FOLDER = "blsnb-parity-"
_STEPS = 3
"""Besides the requests: export, start, stop."""
_INSTALLING = 3
"""Steps of an installation, at most."""

Progress = Callable[[float, str], None]
"""Receives the share that is done, from 0 to 1, and what is being done."""


def compare(
    parts: ServerParts,
    model_name: str,
    inputs: Mapping[str, Any] | None,
    *,
    target: str,
    cases: Cases | None,
    atol: float,
    rtol: float,
    timeout_s: float,
    install: bool,
    progress: Progress | None,
    options: Mapping[str, Any],
) -> Parity:
    """Make requests here and on a real Triton server; see `Server.compare`."""
    parts.lifetime.check_open()
    if not parts.models.exists(model_name):
        known = ", ".join(parts.repository.names()) or "none"
        raise RepositoryError(f"there is no model {model_name!r}; there are: {known}")
    verification = Verification(
        Ours(parts),
        model_name,
        asked_of(model_name, inputs, cases, options),
        tolerance=Tolerance(atol, rtol),
        timeout_s=timeout_s,
        may_install=install,
        progress=progress,
    )
    try:
        return verification.run(target)
    except (TritonServerError, KeyboardInterrupt) as error:
        # Its text has all that matters; our frames would only hide it.
        raise error.with_traceback(None) from None


class Verification:
    """One comparison of a model here with the same one on a real server.

    Parameters
    ----------
    model_name
        The model that is asked.
    asked
        The requests, in their order.
    tolerance
        How far values may be apart.
    timeout_s
        Seconds that a real server has to become ready, and to answer each request.
    may_install
        Whether a real server, and what models import, may be installed.
    progress
        Told how far it is.
    """

    def __init__(
        self,
        ours: Ours,
        model_name: str,
        asked: Sequence[Asked],
        *,
        tolerance: Tolerance = EXACT,
        timeout_s: float = 60.0,
        may_install: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._ours = ours
        self._model_name = model_name
        self._asked = asked
        self._tolerance = tolerance
        self._timeout_s = timeout_s
        self._may_install = may_install
        self._progress = progress
        self._done = 0

    def run(self, address: str) -> Parity:
        """Ask both servers everything; the real one ends, whatever happens.

        Raises
        ------
        ValueError
            The address is none.
        InputError
            An input is of a type that Triton has not.
        RepositoryError
            A stand-in answers for the model, or for one that it calls.
        TritonServerError
            There is no real server, or it cannot be asked.
        """
        place = Path(tempfile.gettempdir()).resolve()
        sweep(place, _FOLDER)
        owned = OwnedFolder(place, _FOLDER)
        try:
            target = target_of(
                address,
                self._ours,
                owned.create(),
                may_install=self._may_install,
                timeout_s=self._timeout_s,
                say=self._say,
            )
            return self._compared(target)
        finally:
            owned.close()

    def _compared(self, target: Target) -> Parity:
        self._refuse([self._model_name])
        messages = [self._ours.message(each.request) for each in self._asked]
        mine = self._ask_ours()
        called = list(_called(mine))
        self._refuse([model.name for model in called])
        with target.serving(self._model_name, [m.name for m in called]) as theirs:
            version = theirs.version()
            real = self._ask_theirs(theirs, messages, mine)
        cases = tuple(self._cases(target, messages, mine, real))
        notes = [*target.notes, *self._left_out(real)]
        if not all(case.agree for case in cases):
            notes += self._release_note(version)
        self._tell(1.0, "done")
        return Parity(self._model_name, f"Triton {version}", cases, tuple(notes))

    def _refuse(self, names: Iterable[str]) -> None:
        """Refuse what no real server can answer for."""
        standins = self._ours.standins()
        used = sorted({name for name in names if name in standins})
        if used:
            said = ", ".join(f"{name!r} ({standins[name]})" for name in used)
            raise RepositoryError(
                f"{self._model_name!r} cannot be compared: a stand-in answers for "
                f"{said}, and a real server has none"
            )

    def _ask_ours(self) -> list[Answers]:
        answers = []
        for each in self._asked:
            self._say(f"{each.name} of {len(self._asked)}, here")
            answers.append(self._ours.ask(each.request))
        return answers

    def _ask_theirs(
        self, theirs: Theirs, messages: Sequence[RequestMessage], mine: list[Answers]
    ) -> list[Answers]:
        answers: list[Answers] = []
        for asked, message, ours in zip(self._asked, messages, mine, strict=True):
            self._say(f"{asked.name} of {len(self._asked)}, on the real server")
            stream = self._ours.is_decoupled(asked.request)
            seconds, patient = self._patience(asked, ours)
            found = theirs.ask(message, seconds, stream=stream, patient=patient)
            answers.append(found)
            if found.failure is not None and found.failure.code == NO_ANSWER:
                # What hangs there may hold the model's only instance.
                break
        return answers

    def _patience(self, asked: Asked, ours: Answers) -> tuple[float, bool]:
        """Return how long to wait, and whether that is ours to say."""
        given = asked.request.client_timeout_s
        if given is not None and given <= self._timeout_s:
            return given, False
        if ours.failure is not None and ours.failure.code == WOULD_HANG:
            return min(_HANG_S, self._timeout_s), True
        return self._timeout_s, True

    def _cases(
        self,
        target: Target,
        messages: Sequence[RequestMessage],
        mine: Sequence[Answers],
        real: Sequence[Answers],
    ) -> Iterator[Case]:
        traces = target.traces()
        known = zip(self._asked, messages, mine, real, strict=False)
        for asked, message, ours, theirs in known:
            here = _plain(ours, self._ours.folders)
            there = _plain(theirs, target.folders())
            checks = check(here, there, self._tolerance)
            # Beside a run here, a text that is the same is the same to the letter.
            alike = ours if all(each.agrees for each in checks) else there
            seen = _with_texts(theirs, alike)
            run = real_run(message, seen, traces, ours.run)
            yield Case(asked.name, here, replace(there, run=run), checks)

    def _left_out(self, real: Sequence[Answers]) -> list[str]:
        count = len(self._asked) - len(real)
        if not count:
            return []
        return [f"{count:,} further cases were not asked of the real server"]

    def _release_note(self, version: str) -> list[str]:
        ours = self._ours.release
        theirs = _RELEASES.get(version, ours)
        if theirs == ours:
            return []
        real, here = (f"{year}.{month:02}" for year, month in (theirs, ours))
        return [
            f"the real server is release {real}, and this one agrees with {here}: see "
            f"Server(triton_release={real!r})"
        ]

    def _say(self, words: str) -> None:
        steps = 2 * len(self._asked) + _STEPS + _INSTALLING * self._may_install
        self._tell(self._done / steps, words)
        self._done += 1

    def _tell(self, share: float, words: str) -> None:
        if self._progress is not None:
            self._progress(min(share, 1.0), words)


def _called(answers: Iterable[Answers]) -> Iterator[ModelInfo]:
    """Yield the models that took part in runs."""
    for each in answers:
        for model in () if each.run is None else each.run.trace.models:
            if model.kind != "span":
                yield model


def _plain(answers: Answers, folders: Sequence[Path]) -> Answers:
    """Return answers whose texts say nothing of where they were given."""

    def told(answer: Answer) -> Answer:
        if answer.failure is None:
            return answer
        failure = answer.failure._replace(text=plain(answer.failure.text, folders))
        return replace(answer, failure=failure)

    return replace(answers, responses=tuple(map(told, answers.responses)))


def _with_texts(answers: Answers, others: Answers) -> Answers:
    """Return answers with the errors' texts of others, one for one."""
    pairs = zip(answers.responses, others.responses, strict=False)
    told = tuple(replace(mine, failure=other.failure) for mine, other in pairs)
    return replace(answers, responses=told)
