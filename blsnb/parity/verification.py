"""Make the same requests on blsnb and on a real server, and compare the outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blsnb.arguments import (
    check_callable,
    check_flags,
    check_mapping,
    check_numbers,
    check_text,
    check_type,
)
from blsnb.benchmark.measure import Progress
from blsnb.errors import (
    InputError,
    RepositoryError,
    RequestInterrupted,
    TritonServerError,
)
from blsnb.files.interrupts import ended_once
from blsnb.files.owned import OwnedFolder
from blsnb.parity.agreement import Case
from blsnb.parity.blsnb_client import BlsnbClient
from blsnb.parity.cases import Cases, NamedRequest, requests_of
from blsnb.parity.checks import check
from blsnb.parity.parity import Parity
from blsnb.parity.real_run import real_run
from blsnb.parity.targets import LOCAL, Local, Remote, Target
from blsnb.parity.triton.client import TritonClient
from blsnb.parity.triton.outcome import (
    NO_RESPONSE,
    WOULD_HANG,
    ClientOutcome,
    ClientResponse,
    without_paths,
)
from blsnb.parts.server_parts import ServerParts
from blsnb.pb_utils.message import RequestMessage
from blsnb.printable import counted
from blsnb.tensors.tolerance import Tolerance

_HANG_S = 10.0
"""Maximum wait for the real server's response to a request that hangs on Triton."""
_RELEASES = {"2.51.0": (24, 10)}
_FOLDER = "blsnb-parity-"
_STEPS = 3
"""Reported steps besides the requests: export, start, stop."""
_INSTALL_STEPS = 3
"""Maximum number of reported steps of an installation."""


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
    check_text(model_name=model_name, target=target)
    check_mapping(inputs=inputs)
    kinds = "a file, or a list of requests"
    check_type("cases", cases, str | Path | Iterable | None, kinds)
    check_numbers(atol=atol, rtol=rtol, timeout_s=timeout_s)
    check_flags(install=install)
    check_callable(progress=progress)
    if not parts.reports.exists(model_name):
        known = parts.repository.known_names(model_name)
        raise RepositoryError(f"there is no model {model_name!r}; there are: {known}")
    verification = Verification(
        BlsnbClient(parts),
        model_name,
        requests_of(model_name, inputs, cases, options),
        tolerance=Tolerance(atol, rtol),
        timeout_s=timeout_s,
        may_install=install,
        progress=progress,
    )
    try:
        return ended_once(lambda: verification.run(target))
    except TritonServerError as error:
        # The text explains the error; the frames of blsnb would hide it.
        raise error.with_traceback(None) from None
    except RequestInterrupted:
        raise
    except KeyboardInterrupt:
        raise RequestInterrupted from None


@dataclass
class Verification:
    """One comparison of a model on blsnb and on a real server."""

    client: BlsnbClient
    model_name: str
    requests: Sequence[NamedRequest]
    tolerance: Tolerance
    timeout_s: float
    may_install: bool
    progress: Progress | None
    _steps_done: int = 0

    def run(self, address: str) -> Parity:
        """Send all requests to both servers; a real server started here is stopped."""
        owned = OwnedFolder.temporary(_FOLDER)
        try:
            if address != LOCAL:
                return self._compare(Remote(address))
            local = Local(
                self.client,
                owned.create(),
                may_install=self.may_install,
                timeout_s=self.timeout_s,
                report=self._report,
            )
            return self._compare(local)
        finally:
            owned.close()

    def _compare(self, target: Target) -> Parity:
        self._refuse_standins([self.model_name])
        messages = [self._message(each) for each in self.requests]
        actual = self._send_here()
        called = [
            model.name
            for each in actual
            for model in (each.run.trace.models if each.run else ())
            if model.kind != "span"
        ]
        self._refuse_standins(called)
        with target.serving(self.model_name, called) as real_client:
            version = real_client.version()
            expected = self._send_there(real_client, messages, actual)
        cases = tuple(self._cases(target, messages, actual, expected))
        notes = [*target.notes, *self._skipped(len(expected))]
        if not all(case.agree for case in cases):
            notes += self._release_note(version)
        self._report_share(1.0, "done")
        return Parity(self.model_name, f"Triton {version}", cases, tuple(notes))

    def _message(self, named: NamedRequest) -> RequestMessage:
        try:
            return self.client.message(named.request)
        except InputError as error:
            if len(self.requests) == 1:
                raise
            raise InputError(f"{named.name}: {error}") from None

    def _refuse_standins(self, names: Iterable[str]) -> None:
        standins = self.client.standins()
        used = sorted({name for name in names if name in standins})
        if used:
            listed = ", ".join(f"{name!r} ({standins[name]})" for name in used)
            raise RepositoryError(
                f"{self.model_name!r} cannot be compared: it uses a stand-in for "
                f"{listed}, and a real server has no stand-ins"
            )

    def _send_here(self) -> list[ClientOutcome]:
        outcomes = []
        for each in self.requests:
            self._report(f"{each.name} of {len(self.requests)}, on blsnb")
            outcomes.append(self.client.send(each.request))
        return outcomes

    def _send_there(
        self,
        client: TritonClient,
        messages: Sequence[RequestMessage],
        actual: Sequence[ClientOutcome],
    ) -> list[ClientOutcome]:
        outcomes: list[ClientOutcome] = []
        for named, message, ours in zip(self.requests, messages, actual, strict=True):
            self._report(f"{named.name} of {len(self.requests)}, on the real server")
            stream = self.client.is_decoupled(named.request)
            own_s = named.request.client_timeout_s
            seconds, is_clients = time_limit(own_s, ours, self.timeout_s)
            outcome = client.send(
                message, seconds, stream=stream, is_client_timeout=is_clients
            )
            outcomes.append(outcome)
            if outcome.failure is not None and outcome.failure.code == NO_RESPONSE:
                # A request that hangs may occupy the model's only instance.
                break
        return outcomes

    def _cases(
        self,
        target: Target,
        messages: Sequence[RequestMessage],
        actual: Sequence[ClientOutcome],
        expected: Sequence[ClientOutcome],
    ) -> Iterator[Case]:
        traces = target.traces()
        known = zip(self.requests, messages, actual, expected, strict=False)
        for named, message, ours, theirs in known:
            here = _without_paths(ours, self.client.folders)
            there = _without_paths(theirs, target.folders())
            checks = check(here, there, self.tolerance)
            # Texts that agree are shown as the same text in both runs.
            texts = ours if all(each.agrees for each in checks) else there
            run = real_run(message, _with_failures(theirs, texts), traces, ours.run)
            yield Case(named.name, here, replace(there, run=run), checks)

    def _skipped(self, sent: int) -> list[str]:
        count = len(self.requests) - sent
        if not count:
            return []
        further = counted(count, "further case")
        return [
            f"{further} {'was' if count == 1 else 'were'} not sent to the real server"
        ]

    def _release_note(self, version: str) -> list[str]:
        ours = self.client.settings.release
        theirs = _RELEASES.get(version, ours)
        if theirs == ours:
            return []
        real, here = (f"{year}.{month:02}" for year, month in (theirs, ours))
        return [
            f"the real server is release {real}, and blsnb follows release {here}: see "
            f"Server(triton_release={real!r})"
        ]

    def _report(self, step: str) -> None:
        steps = 2 * len(self.requests) + _STEPS + _INSTALL_STEPS * self.may_install
        self._report_share(self._steps_done / steps, step)
        self._steps_done += 1

    def _report_share(self, share: float, step: str) -> None:
        if self.progress is not None:
            self.progress(min(share, 1.0), step)


def _without_paths(outcome: ClientOutcome, folders: Sequence[Path]) -> ClientOutcome:
    """Return an outcome whose error texts do not depend on the machine."""

    def changed(response: ClientResponse) -> ClientResponse:
        failure = response.failure
        if failure is None:
            return response
        text = without_paths(failure.text, folders)
        return replace(response, failure=failure._replace(text=text))

    return replace(outcome, responses=tuple(map(changed, outcome.responses)))


def _with_failures(outcome: ClientOutcome, others: ClientOutcome) -> ClientOutcome:
    """Return an outcome with the failures of another one, response by response."""
    pairs = zip(outcome.responses, others.responses, strict=False)
    changed = tuple(replace(mine, failure=other.failure) for mine, other in pairs)
    return replace(outcome, responses=changed)


def time_limit(
    client_timeout_s: float | None, actual: ClientOutcome, timeout_s: float
) -> tuple[float, bool]:
    """Return the time limit of a request, and whether it is the client's own.

    What hangs on blsnb is expected to hang on the real server, too.
    """
    if client_timeout_s is not None and client_timeout_s <= timeout_s:
        return client_timeout_s, True
    if actual.failure is not None and actual.failure.code == WOULD_HANG:
        return min(_HANG_S, timeout_s), False
    return timeout_s, False
