"""Which loads wait for each other, and what an interrupt leaves."""

from __future__ import annotations

import contextlib
import contextvars
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable

import pytest
import waiting
from asserting import every

from blsnb.engine.loading import load_lock
from blsnb.engine.loading.load_lock import ALL_MODELS, CrossedLoads, LoadLock

NAMES = [f"m{number}" for number in range(8)]


def is_free(lock: LoadLock) -> bool:
    """Whether another thread can hold a lock."""
    held = threading.Event()

    def hold() -> None:
        with lock.hold("other"):
            held.set()

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    thread.join(waiting.PATIENCE_S)
    return held.is_set()


def interrupted_at(step: int, lock: LoadLock) -> bool:
    """Hold a lock with an interrupt at a step of its code; return whether it came.

    Python handles signals when a function begins and after calls.
    """
    left = step

    def profile(frame, event, _):
        nonlocal left
        is_step = event in ("call", "c_return")
        if is_step and frame.f_code.co_filename == load_lock.__file__:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    try:
        with contextlib.suppress(KeyboardInterrupt):
            sys.setprofile(profile)
            with lock.hold("m"), lock.hold("inner"):
                pass
    finally:
        sys.setprofile(None)
    return left <= 0


def test_an_interrupt_at_any_moment_leaves_the_lock_free():
    """It is neither held by an ended load nor released twice."""
    results = []
    for step in range(1, 500):
        lock = LoadLock()
        if not interrupted_at(step, lock):
            break
        results.append((step, is_free(lock) and not lock.is_held_for("m")))

    assert every(free for _, free in results)
    assert 10 < len(results) < 400


def test_a_lock_is_busy_while_a_load_runs():
    """Followed folders are not polled until it ends, also by another thread."""
    lock = LoadLock()
    found = [lock.is_busy]
    with lock.hold("m"):
        found.append(lock.is_busy)
        with lock.hold("inner"):
            found.append(lock.is_busy)
    found.append(lock.is_busy)

    assert [False, True, True, False] == found


def related(*names: str) -> Callable[[], frozenset[str]]:
    """Return models that are loaded together."""
    return lambda: frozenset(names)


def is_waited_for(lock: LoadLock, name: str) -> bool:
    """Whether a load of a model waits for another load."""
    holds = list(lock._holds)
    return any(each.name == name and each.waiter is not None for each in holds)


def loading(lock: LoadLock, name: str, ended: list[str], **more) -> threading.Thread:
    """Start a thread that loads a model; return once it waits or has ended."""

    def load() -> None:
        with lock.hold(name, **more):
            ended.append(name)

    thread = threading.Thread(target=load)
    thread.start()
    assert waiting.until(lambda: not thread.is_alive() or is_waited_for(lock, name))
    return thread


def test_loads_of_unrelated_models_run_at_the_same_time():
    """Neither waits for the other."""
    lock, ended = LoadLock(), []
    with lock.hold("first"):
        loading(lock, "second", ended).join(60)

        assert ["second"] == ended


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("model", {}),
        ("ensemble", {"related": related("model", "other")}),
        (ALL_MODELS, {}),
    ],
    ids=["the same model", "a related model", "all models"],
)
def test_a_load_waits_for_a_related_one(name, more):
    """They run in the order of their calls."""
    lock, ended = LoadLock(), []
    with lock.hold("model"):
        thread = loading(lock, name, ended, **more)
        ended.append("model")
    thread.join(60)

    assert ["model", name] == ended


def test_a_load_that_waits_is_not_overtaken():
    """A later load of one of its models waits behind it."""
    lock, ended = LoadLock(), []
    with lock.hold("a"):
        first = loading(lock, "ensemble", ended, related=related("a", "b"))
        second = loading(lock, "b", ended)
        assert [] == ended
    for thread in (first, second):
        thread.join(60)

    assert ["ensemble", "b"] == ended


def test_relations_that_change_during_a_wait_are_respected():
    """After the wait the load keeps the models that are related now."""
    lock, ended, looks = LoadLock(), [], []

    def related() -> frozenset[str]:
        looks.append(None)
        return frozenset("a" if len(looks) == 1 else "ab")

    with lock.hold("b"):
        with lock.hold("a"):
            thread = loading(lock, "e", ended, related=related)
        assert waiting.until(lambda: len(looks) == 2 and is_waited_for(lock, "e"))
        assert [] == ended
    thread.join(60)

    assert (["e"], False) == (ended, lock.is_busy)


def test_two_loads_that_wait_for_each_other_are_refused():
    """One of them raises an error, and the other one has both models."""
    lock, ended, refused = LoadLock(), [], []
    both = threading.Barrier(2)

    def load(name: str, inner: str) -> None:
        try:
            with lock.hold(name):
                both.wait(60)
                with lock.hold(inner):
                    ended.append(inner)
        except CrossedLoads as error:
            refused.append(error.name)

    pairs = [("a", "b"), ("b", "a")]
    threads = [threading.Thread(target=load, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert {"a", "b"} == {*ended, *refused}
    assert (1, 1) == (len(ended), len(refused))


@pytest.mark.parametrize("seed", range(5))
def test_any_loads_end_and_exclude_related_ones(seed):
    """Of loads at the same time no two have a model in common."""
    lock, mutex = LoadLock(), threading.Lock()
    held, overlaps, done = Counter(), [], []

    def load(name: str, models: frozenset[str], choose: random.Random) -> None:
        with lock.hold(name, related=lambda: models):
            with mutex:
                held.update(models)
                overlaps.extend(model for model in models if held[model] > 1)
            if choose.random() < 0.3:
                with contextlib.suppress(CrossedLoads), lock.hold(choose.choice(NAMES)):
                    pass
            with mutex:
                held.subtract(models)
        done.append(name)

    def client(number: int) -> None:
        choose = random.Random(f"{seed} {number}")
        for _ in range(40):
            name = choose.choice(NAMES)
            others = choose.sample(NAMES, choose.randrange(3))
            load(name, frozenset([name, *others]), choose)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert ([], 240) == (overlaps, len(done))
    assert is_free(lock)


def test_a_wait_may_end_without_the_lock():
    """A closing server does not wait for a load that hangs."""
    lock = LoadLock()
    entered = threading.Event()

    def close() -> None:
        with lock.hold(ALL_MODELS, wait_s=0.01), lock.hold("m"):
            entered.set()

    with lock.hold("m"):
        thread = threading.Thread(target=close)
        thread.start()
        thread.join(60)

        assert entered.is_set()
        assert lock.is_held_for("m")
    assert is_free(lock)


def test_a_load_has_the_lock_if_it_is_free_within_its_time():
    """Others then wait for it."""
    lock, ended = LoadLock(), []
    with lock.hold("m"):
        thread = loading(lock, "m", ended, wait_s=60)
        assert [] == ended
    thread.join(60)

    with lock.hold("m", wait_s=60):
        other = loading(lock, "m", ended)
        assert ["m"] == ended
    other.join(60)


def test_a_load_that_no_longer_waits_keeps_no_other_one_from_the_lock():
    """Its block runs without the lock when its time is over."""
    lock, ended = LoadLock(), []
    entered, leave = threading.Event(), threading.Event()

    def load() -> None:
        with lock.hold("m", wait_s=0):
            entered.set()
            leave.wait(60)

    with lock.hold("m"):
        thread = threading.Thread(target=load)
        thread.start()
        assert entered.wait(60)
    other = loading(lock, "m", ended)
    has_ended = waiting.until(lambda: ended == ["m"])
    leave.set()
    thread.join(60)
    other.join(60)

    assert has_ended


def test_a_task_that_outlives_its_load_is_no_longer_part_of_it():
    """It keeps the context of the hook that started it."""
    lock = LoadLock()
    with lock.hold("outer"), lock.hold("inner"):
        context = contextvars.copy_context()
        held = [lock.is_held_for(name) for name in ("outer", "inner", "other")]

    assert [True, True, False] == held
    assert not context.run(lock.is_held_for, "inner")
    assert not context.run(lock.is_held_for, "outer")


def test_a_load_of_another_server_within_a_load_ends_that_one_only():
    """Each server has a lock of its own."""
    lock, other = LoadLock(), LoadLock()
    with lock.hold("m"):
        with other.hold("m"):
            assert other.is_held_for("m")
        assert lock.is_held_for("m")
        assert not other.is_held_for("m")


def test_a_load_within_a_load_is_part_of_it():
    """A hook that loads a model does not wait for its own load."""
    lock = LoadLock()
    with lock.hold("outer"), lock.hold("inner"):
        assert every(lock.is_held_for(name) for name in ("outer", "inner"))
    assert not lock.is_held_for("outer")
