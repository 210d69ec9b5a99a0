"""Sixty clients, twenty models, and changes in the middle: all is answered, once."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import numpy as np
import pytest
import stage
from cells import touch
from waiting import until

from blsnb import InferenceError, ModelLoadError, Server
from blsnb.parts.server_parts import parts_of

from .crowd import Member, crowd

CLIENTS = 64
PATIENCE_S = 240.0
_MODEL = r"Request for unknown model: '\w+' "
REFUSED = re.compile(
    r"(in ensemble '\w+', |Model \w+ - Error when running inference: )*"
    r"(\[request id: <id_unknown>\] )?("
    rf"{_MODEL}is not found|{_MODEL}has no available versions"
    r"|Failed for execute the inference request\. Model '\w+' is not ready\."
    r"|inference request for sequence \d+ to model '\w+' must specify the START flag "
    r"on the first request of the sequence)"
)
"""What may be said where models come and go."""
CHANGERS = 2
USUAL_S, RESTLESS_S = 0.005, 0.00001
LATE_S = (0.0001, 0.001, 0.01)
LATE = ("DEADLINE_EXCEEDED", "CANCELLED")


class Wrong(Exception):
    """A wrong response."""


class Crowd:
    """Clients of one server, and the responses they received.

    Parameters
    ----------
    seed
        Determines all requests.
    requests
        How many each client sends, at least.
    """

    def __init__(self, server: Server, seed: int, requests: int) -> None:
        self.server = server
        self.chance = random.Random(seed)
        self.members = crowd(self.chance)
        self.told: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._requests = requests
        self._lock = threading.Lock()
        stage.values.update(lock=threading.Lock(), initialized=0, finalized=0)
        for member in self.members:
            server.define(member.name, member.source, config=member.config)
        self.over = threading.Event()

    def note(self, what: str) -> None:
        """Count the outcome of a client request."""
        with self._lock:
            self.told[what] += 1

    def run(self) -> None:
        """Run all clients, and change models; always ends."""
        clients = self.threads(self.client, CLIENTS)
        changers = self.threads(self.change, CHANGERS)
        deadline = time.monotonic() + PATIENCE_S
        for thread in clients:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.over.set()
        for thread in changers:
            thread.join(max(1.0, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in (*clients, *changers)):
            faulthandler.dump_traceback(sys.__stderr__)
            raise Wrong("somebody waits for ever: see the stacks")

    def threads(
        self, work: Callable[[float], None], count: int
    ) -> list[threading.Thread]:
        """Start threads that do some work, each with its own seed."""
        seeds = [self.chance.random() for _ in range(count)]
        threads = [
            threading.Thread(target=work, args=(seed,), daemon=True) for seed in seeds
        ]
        for thread in threads:
            thread.start()
        return threads

    def change(self, seed: float) -> None:
        """Load and unload models until all clients are done."""
        chance = random.Random(seed)
        try:
            while not self.over.wait(chance.random() / 100):
                self.change_one(chance, chance.choice(self.members).name)
        except BaseException as error:
            self.wrong.append(f"change: {error!r}")

    def change_one(self, chance: random.Random, name: str) -> None:
        """Reload a model, change its instances, or unload it for a while."""
        if chance.random() < 0.4:
            self.resize(name, chance.randint(1, 3))
        else:
            touch(self.server, name)
        with suppress(ModelLoadError):
            if chance.random() < 0.3:
                dependents = chance.random() < 0.2
                self.server.unload(name, unload_dependents=dependents)
                self.over.wait(chance.random() / 200)
            self.server.load(name)
        self.note("changed")

    def resize(self, name: str, count: int) -> None:
        """Let a model have another number of instances from its next load on."""
        file = parts_of(self.server).repository.private(name).config_file
        text = re.sub(r"count: \d+", f"count: {count}", file.read_text())
        # Another thread may load it just now.
        new = file.parent.parent / f".{name}.{threading.get_ident()}"
        new.write_text(text)
        later_ns = file.stat().st_mtime_ns + 1_000_000
        os.utime(new, ns=(later_ns, later_ns))
        new.replace(file)
        self.note("resized")

    def client(self, seed: float) -> None:
        """Send requests one after another."""
        chance = random.Random(seed)
        for _ in range(self._requests):
            member = chance.choice(self.members)
            try:
                self.ask(member, chance)
            except BaseException as error:
                self.wrong.append(f"{member.name}: {error!r}")

    def ask(self, member: Member, chance: random.Random) -> None:
        """Send a request to a model in one of all ways."""
        if member.join:
            return
        x = [chance.randrange(1000) for _ in range(chance.randint(1, 3))]
        if member.sequence:
            self.ask_in_sequence(member, x, chance)
        elif member.sends:
            self.read(member, x, chance)
        elif chance.random() < 0.1:
            late_s = chance.choice(LATE_S)
            self.judged(
                member,
                x,
                lambda: self.infer(member, x, client_timeout_s=late_s),
                late=True,
            )
        elif chance.random() < 0.05:
            late_s = chance.choice(LATE_S)
            self.judged(member, x, lambda: self.left(member, x, late_s), late=True)
        else:
            self.judged(member, x, lambda: self.infer(member, x))

    def ask_in_sequence(
        self, member: Member, x: list[int], chance: random.Random
    ) -> None:
        """Send a whole sequence, or until it is refused."""
        number, count = chance.getrandbits(62) + 1, chance.randint(1, 4)
        for step in range(count):
            ask = partial(
                self.infer,
                member,
                x,
                correlation_id=number,
                sequence_start=step == 0,
                sequence_end=step == count - 1,
            )
            if not self.judged(member, x, ask, step=step):
                return

    def infer(self, member: Member, x: list[int], **fields: object) -> list[list[int]]:
        """Return the response of a model that is not decoupled."""
        run = self.server.infer(member.name, given(member, x), **fields)
        return [run["Y"].ravel().tolist()]

    def left(self, member: Member, x: list[int], late_s: float) -> list[list[int]]:
        """Ask from an event loop, which may cancel that."""
        asked = self.server.async_infer(member.name, given(member, x))
        try:
            run = asyncio.run(asyncio.wait_for(asked, late_s))
        except TimeoutError:
            raise InferenceError("the loop cancelled it", "CANCELLED") from None
        return [run["Y"].ravel().tolist()]

    def read(self, member: Member, x: list[int], chance: random.Random) -> None:
        """Read a stream, or a part of it."""
        few = chance.random() < 0.2

        def ask() -> list[list[int]]:
            found = []
            with_error = None
            for response in self.server.stream(member.name, given(member, x)):
                if response.error is not None:
                    with_error = with_error or InferenceError(response.error)
                elif response.outputs:
                    found.append(response["Y"].ravel().tolist())
                    if few:
                        break
            if with_error is not None:
                raise with_error
            return found

        self.judged(member, x, ask, few=few)

    def judged(
        self,
        member: Member,
        x: list[int],
        ask: Callable[[], list[list[int]]],
        *,
        step: int = 0,
        few: bool = False,
        late: bool = False,
    ) -> bool:
        """Send a request and check the response; return whether there was one."""
        try:
            answers = ask()
        except InferenceError as error:
            if late and error.code in LATE:
                self.note(error.code)
                return False
            if REFUSED.fullmatch(error.message):
                self.note("refused")
                return False
            raise Wrong(
                f"{type(error).__name__} {error.code} {error.message}"
            ) from error
        right = member.answers(x, step)
        if answers != (right[:1] if few else right):
            raise Wrong(f"{answers} for {x}, step {step}: {right}")
        self.note("right")
        return True


def given(member: Member, x: list[int]) -> dict[str, np.ndarray]:
    """Return the inputs of a request."""
    array = np.array(x, np.int64)
    return {"X": array[np.newaxis] if member.size else array}


def settled(server: Server) -> Iterator[str]:
    """Yield faults after the last request."""
    for version in parts_of(server).engine.catalog.all_versions():
        if version.waiting_count:
            yield f"{version}: {version.waiting_count} wait"
        pool = getattr(version, "pool", None)
        if pool is not None and pool.idle_count != len(pool.instances):
            yield f"{version}: {pool.idle_count} of {len(pool.instances)} are idle"
    for root in parts_of(server).engine.open_requests.in_flight():
        if not root.done.wait(0):
            yield f"{root}: is not done"


def eventually(found: Callable[[], list[str]]) -> list[str]:
    """Return the faults when none is left, or at the deadline."""
    until(lambda: not found())
    return found()


@contextmanager
def restless(seconds: float) -> Iterator[None]:
    """Switch threads so often that rare interleavings happen."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def check(seed: int, requests: int) -> Counter[str]:
    """Run a crowd, and prove that it got what it should and left nothing behind."""
    often_s = RESTLESS_S if seed % 2 else USUAL_S
    with restless(often_s), Server(keep_runs=0) as server:
        crowd = Crowd(server, seed, requests)
        crowd.run()
        assert [] == crowd.wrong[:5]
        assert [] == eventually(lambda: list(settled(server)))
        for member in crowd.members:
            server.load(member.name)
        for member in crowd.members:
            crowd.ask(member, crowd.chance)
        assert [] == crowd.wrong
    assert stage.values["initialized"] == stage.values["finalized"]
    return crowd.told


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_is_answered(seed):
    """Rightly, or refused with a right text; nothing stays behind."""
    told = check(seed, 12)

    assert told["right"] > CLIENTS
    assert told["changed"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 110))
def test_crowds_receive_correct_responses(seed, figures):
    """Many seeds and requests are tried."""
    told = check(seed, 60)

    figures(**told)
    assert told["right"] > 10 * CLIENTS
