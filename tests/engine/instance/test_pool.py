"""Which instance serves next, decided without a model."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from asserting import some

from blsnb.engine.instance.slot import Retired
from blsnb.engine.request.deadlock import Deadlock
from blsnb.engine.request.lifetime import Unwind

from ..pools import Pools, a_request, a_root, begin, end, given_up, wait_in


def test_each_instance_is_taken_once(pools):
    """Two requests take two instances."""
    pool = pools.pool("a", "b")

    taken = {begin(pool, a_request()).name, begin(pool, a_request()).name}

    assert {"a", "b"} == taken


def test_instances_are_assigned_in_order_of_arrival(pools):
    """The queue keeps its order."""
    pool = pools.pool("a")
    instance = begin(pool, a_request())
    waits = [wait_in(pool, a_request()) for _ in range(3)]

    for thread, taken in some(waits):
        assert [] == taken
        pool.release(instance)
        thread.join()
        assert [instance] == taken


def test_a_scheduler_claims_the_oldest_free_slot_or_that_of_a_number(pools):
    """A busy instance has no slot to claim."""
    pool = pools.pool("a", "b", "c")

    claimed = [pool.claim(1), pool.claim()]
    assert ["b", "a"] == [slot.name for slot in claimed]
    assert [2] == pool.idle
    for number in (1, 0):
        with pytest.raises(LookupError):
            pool.claim(number)
    pool.unclaim(claimed[0])
    assert ([2, 1], 2) == (pool.idle, pool.idle_count)


def test_a_waiting_request_gets_a_slot_that_is_returned_unused(pools):
    """A scheduler claims slots before it knows whether their batches begin."""
    pool = pools.pool("a")
    slot = pool.claim()
    thread, taken = wait_in(pool, a_request())

    pool.unclaim(slot)
    thread.join()

    assert [slot] == taken


def test_a_request_that_ends_leaves_the_queue(pools):
    """No instance is assigned to it afterwards."""
    pool = pools.pool("a")
    instance = begin(pool, a_request())
    root = a_root()
    thread, taken = wait_in(pool, a_request(root))

    root.end(KeyboardInterrupt())
    thread.join()

    assert [Unwind] == taken
    assert 0 == pool.waiting_count
    end(pool, instance)
    assert instance is pool.take(a_request(), blocks_execute=False)


def test_an_instance_handed_to_an_ended_request_is_not_lost(pools):
    """It is released, although the request ends at the same moment."""
    pool = pools.pool("a")
    instance = begin(pool, a_request())
    request = a_request()

    def end_while_waking(waiter: Any, notice: Any = None) -> None:
        end(pool, instance)
        request.root.ended = KeyboardInterrupt()
        raise Unwind

    request.root.wait = end_while_waking  # type: ignore[method-assign]
    with pytest.raises(Unwind):
        pool.take(request, blocks_execute=False)

    assert instance is pool.take(a_request(), blocks_execute=False)


def test_a_self_call_is_a_deadlock(pools):
    """The only instance waits for itself, as the error says."""
    pool = pools.pool("a_0")
    outer = a_request()
    instance = begin(pool, outer)
    inner = a_request()
    inner.call.line = 12
    instance.execution.blocked_on = inner

    with pytest.raises(Deadlock) as caught:
        pool.take(inner, blocks_execute=True)

    assert [
        "a request to model waits (1 instance, all busy)",
        "a_0 waits in exec() of model at line 12",
    ] == caught.value.lines
    assert 0 == pool.waiting_count
    assert inner.waiting_for is None


def test_one_busy_instance_that_does_not_wait_is_no_deadlock(pools):
    """It may be released, so the wait may end."""
    pool = pools.pool("a", "b")
    working = begin(pool, a_request())
    outer = a_request()
    blocked = begin(pool, outer)
    inner = a_request()
    blocked.execution.blocked_on = inner
    threading.Timer(0.02, lambda: end(pool, working)).start()

    assert working is pool.take(inner, blocks_execute=True)


def test_a_wait_through_a_sender_is_no_deadlock(pools):
    """Any thread may respond for a callee that has returned."""
    pool = pools.pool("a")
    outer, middle = a_request(), a_request()
    instance = begin(pool, outer)
    instance.execution.blocked_on = middle
    thread, taken = wait_in(pool, a_request())

    end(pool, instance)
    thread.join()

    assert [instance] == taken


def test_a_retired_pool_finalizes_its_instances_together(pools):
    """A free instance waits for a busy one, as on Triton."""
    pool = pools.pool("a", "b")
    busy = begin(pool, a_request())
    (free,) = [each for each in pool.instances if each is not busy]

    pool.retire()
    assert (0, 0) == (free.finalized, busy.finalized)
    end(pool, busy)

    assert (1, 1) == (free.finalized, busy.finalized)


def test_a_retired_pool_does_not_wait_for_a_request_that_has_ended(pools):
    """Its instance may never be released; then it is finalized by itself."""
    pool, root = pools.pool("a", "b"), a_root()
    busy = begin(pool, a_request(root))
    (free,) = [each for each in pool.instances if each is not busy]
    pool.retire()

    root.end(ValueError())
    pool.replace_abandoned(root)
    assert (1, 0) == (free.finalized, busy.finalized)
    end(pool, busy)

    assert (1, 1) == (free.finalized, busy.finalized)


def test_a_retired_pool_waits_for_answers_after_execute(pools):
    """Those that end without an answer do not count."""
    pool, root = pools.pool("a"), a_root()
    [instance] = pool.instances
    answered, ended = a_request(), a_request(root)
    pool.last_requests.expect_answers([answered, ended])
    pool.retire()
    root.end(ValueError())
    pool.replace_abandoned(root)
    assert 0 == instance.finalized

    answered.finish()
    pool.last_requests.note_answered(answered)

    assert 1 == instance.finalized


def test_a_retired_pool_redirects_a_late_request(pools):
    """It looked the model up before the reload, and uses the successor."""
    pool = pools.pool("a")
    pool.retire()

    with pytest.raises(Retired):
        pool.take(a_request(), blocks_execute=False)


def test_a_retired_pool_still_serves_its_queue(pools):
    """Requests that wait when a model is unloaded are completed first."""
    pool = pools.pool("a")
    instance = begin(pool, a_request())
    thread, taken = wait_in(pool, a_request())
    pool.retire()

    end(pool, instance)
    thread.join()
    assert [instance] == taken
    assert 0 == instance.finalized
    pool.release(instance)

    assert 1 == instance.finalized


def test_an_instance_that_is_released_while_the_pool_retires_serves_its_queue(
    pools, monkeypatch
):
    """A request that waits is older than the unload, and would wait forever."""
    pool = pools.pool("a")
    instance = begin(pool, a_request())
    thread, taken = wait_in(pool, a_request())

    # The other thread has not assigned yet what it released.
    monkeypatch.setattr(pool, "_released", lambda: None)
    pool.release(instance)
    pool.retire()
    thread.join(10)

    assert [instance] == taken
    assert 0 == instance.finalized


def abandoned(pools: Pools) -> tuple[Any, Any]:
    """Return a pool whose only instance executes an ended request."""
    pool = pools.pool("a")
    request = a_request()
    instance = begin(pool, request)
    request.root.end(KeyboardInterrupt())
    pool.replace_abandoned(request.root)
    return pool, instance


def test_a_scheduler_is_notified_of_each_free_slot(pools):
    """A slot that is abandoned twice is free once."""
    pool = pools.pool("a")
    free = []
    pool.on_free = lambda: free.append(pool.idle_count)
    end(pool, begin(pool, a_request()))
    pool.unclaim(pool.claim())
    request = a_request()
    instance = begin(pool, request)
    request.root.end(KeyboardInterrupt())

    for _ in range(2):
        assert [instance.execution] == pool.replace_abandoned(request.root)
    assert [1, 1, 1, 1] == free
    pool._renew = lambda _: 1 / 0
    with pytest.raises(ZeroDivisionError):
        pool.take(a_request(), blocks_execute=False)
    assert [1, 1, 1, 1, 1] == free


def test_a_new_instance_replaces_an_abandoned_one(pools):
    """The busy instance is finalized when it is released."""
    pool, old = abandoned(pools)

    fresh = begin(pool, a_request())

    assert "fresh a" == fresh.name
    assert [fresh] == pool.instances
    end(pool, old)
    end(pool, fresh)
    assert (1, 0) == (old.finalized, fresh.finalized)
    assert fresh is pool.take(a_request(), blocks_execute=False)


def test_an_instance_that_is_released_before_the_next_request_serves_on(pools):
    """No new instance is made."""
    pool, old = abandoned(pools)

    end(pool, old)

    assert old is pool.take(a_request(), blocks_execute=False)
    assert [] == pools.made
    assert (0, 0) == (pool.waiting_count, pool.idle_count)


def test_an_instance_that_is_released_soon_serves_on(pools, monkeypatch):
    """A request waits briefly before a new instance is made."""
    monkeypatch.setattr("blsnb.engine.instance.pool._RELEASE_S", 10)
    pool, old = abandoned(pools)
    ending = threading.Timer(0.02, lambda: end(pool, old))
    ending.start()

    assert old is pool.take(a_request(), blocks_execute=False)
    assert [] == pools.made
    ending.join()
    assert (0, 0) == (old.finalized, pool.idle_count)


def test_a_waiting_request_gets_the_new_instance(pools):
    """The request was in the queue when the instance was abandoned."""
    pool = pools.pool("a")
    request = a_request()
    begin(pool, request)
    thread, taken = wait_in(pool, a_request())

    request.root.end(KeyboardInterrupt())
    pool.replace_abandoned(request.root)
    thread.join()

    assert pools.made == taken


def test_a_failed_replacement_is_tried_again(pools):
    """The slot stays abandoned; the next request tries again."""
    pool, old = abandoned(pools)
    renew = pool._renew

    def fail(instance: Any) -> Any:
        end(pool, instance)
        raise ZeroDivisionError

    pool._renew = fail
    with pytest.raises(ZeroDivisionError):
        pool.take(a_request(), blocks_execute=False)
    pool._renew = renew

    assert "fresh a" == pool.take(a_request(), blocks_execute=False).name
    assert 1 == old.finalized


def test_the_old_instance_serves_on_if_no_new_one_can_be_made(pools):
    """It serves again once it is released."""
    pool, old = abandoned(pools)
    pool._renew = lambda _: 1 / 0
    with pytest.raises(ZeroDivisionError):
        pool.take(a_request(), blocks_execute=False)

    end(pool, old)

    assert old is pool.take(a_request(), blocks_execute=False)
    assert 0 == old.finalized


def test_an_abandoned_instance_of_a_retired_pool_is_finalized(pools):
    """It is finalized when it is released, however late."""
    pool, old = abandoned(pools)
    pool.retire()

    end(pool, old)

    assert 1 == old.finalized
    assert [] == pools.made


def test_an_instance_released_during_its_replacement_serves_on(pools):
    """It is finalized when the model is unloaded."""
    pool = pools.pool("a")
    instance = given_up(pool, lambda: end(pool, pool.instances[0]))

    assert instance is begin(pool, a_request())
    end(pool, instance)
    pool.retire()
    assert (1, []) == (instance.finalized, pools.made)


def test_an_instance_released_during_its_replacement_is_finalized_by_an_unload(pools):
    """The model is unloaded before a request takes the instance."""
    pool = pools.pool("a")
    instance = given_up(pool, lambda: end(pool, pool.instances[0]))

    pool.retire()
    assert 1 == instance.finalized


def test_only_instances_of_the_ended_request_are_replaced(pools):
    """Instances that execute other requests stay."""
    pool = pools.pool("a")
    instance = begin(pool, a_request())

    pool.replace_abandoned(a_root())

    end(pool, instance)
    assert instance is pool.take(a_request(), blocks_execute=False)


def test_many_threads_lose_no_instance(pools):
    """After a thousand takes and releases all instances are free."""
    pool = pools.pool("a", "b", "c")
    in_use: list[str] = []
    doubly: list[str] = []

    def work() -> None:
        for _ in range(200):
            instance = pool.take(a_request(), blocks_execute=False)
            if instance.name in in_use:
                doubly.append(instance.name)
            in_use.append(instance.name)
            in_use.remove(instance.name)
            pool.release(instance)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == doubly
    taken = {pool.take(a_request(), blocks_execute=False).name for _ in range(3)}
    assert {"a", "b", "c"} == taken
    assert 0 == pool.waiting_count


def test_a_request_arrives_when_it_takes_a_free_instance(pools):
    """Requests that follow it in the same thread cannot overtake it."""
    pool, request, idle = pools.pool("a"), a_request(), []
    request.root.on_arrival = lambda: idle.append(pool.idle_count)

    pool.take(request, False)

    assert [0] == idle


class Late:
    """A lock before whose first use something happens."""

    def __init__(self, lock, happens):
        self.lock, self.happens = lock, happens

    def __enter__(self):
        self.happens()
        self.happens = int
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


def test_an_instance_released_just_before_a_request_waits_serves_it(pools):
    """The request found no free instance, and is not in the queue yet."""
    pool = pools.pool("a")
    busy = pool.take(a_request(), False)
    pool._lock = Late(pool._lock, lambda: pool.release(busy))
    request = a_request(a_root())
    alarm = threading.Timer(5, request.root.end, [Unwind()])
    alarm.start()

    assert busy is pool.take(request, False)
    alarm.cancel()
