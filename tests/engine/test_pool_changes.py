"""Instances that are taken out of a pool, and others that come in."""

from __future__ import annotations

from .pools import Instance, a_request, begin, end, given_up, wait_in


def test_a_free_instance_is_removed_at_once(pools):
    """The others serve in their new order."""
    pool = pools.pool("a", "b", "c")
    a, b, c = pool.instances

    pool.change([2, 1], [])

    assert ([c, b], 1, 0) == (pool.instances, a.finalized, b.finalized)
    assert {b, c} == {begin(pool, a_request()), begin(pool, a_request())}


def test_a_busy_instance_is_removed_on_release(pools):
    """Until then it is present, but gets no request."""
    pool = pools.pool("a", "b")
    a = begin(pool, a_request())

    pool.change([1], [])

    assert 0 == a.finalized
    assert a in pool.present
    end(pool, a)
    assert 1 == a.finalized
    assert [pool.instances[0]] == pool.present
    assert pool.instances[0] is begin(pool, a_request())


def test_a_waiting_request_gets_an_added_instance(pools):
    """It gets it at once."""
    pool = pools.pool("a")
    begin(pool, a_request())
    thread, taken = wait_in(pool, a_request())

    pool.change([0], [fresh := Instance("b")])

    thread.join()
    assert [fresh] == taken


def test_the_slot_of_a_removed_abandoned_instance_is_not_filled(pools):
    """The instance is finalized when it is released."""
    pool = pools.pool("a", "b")
    request = a_request()
    a = begin(pool, request)
    request.root.end(KeyboardInterrupt())
    pool.replace_abandoned(request.root)

    pool.change([1], [])
    end(pool, a)

    assert 1 == a.finalized
    assert [] == pools.made
    assert pool.instances == pool.present
    assert 1 == pool.idle_count


def test_a_new_instance_is_removed_with_its_slot(pools):
    """It serves the request that waited for it, and no other."""
    pool = pools.pool("a", "b")
    request = a_request()
    a, b = begin(pool, request), begin(pool, a_request())
    request.root.end(KeyboardInterrupt())
    pool.replace_abandoned(request.root)
    renew = pool._renew

    def meanwhile(old):
        pool.change([1], [])
        return renew(old)

    pool._renew = meanwhile
    fresh = begin(pool, a_request())
    end(pool, fresh)
    end(pool, a)
    end(pool, b)

    assert (1, 1, 0) == (fresh.finalized, a.finalized, b.finalized)
    assert [b] == pool.instances == pool.present


def test_removed_instances_are_finalized_with_the_pool(pools):
    """They may be busy at both times."""
    pool = pools.pool("a", "b")
    a, b = begin(pool, a_request()), begin(pool, a_request())
    pool.change([1], [])
    pool.retire()

    end(pool, a)
    end(pool, b)

    assert (1, 1) == (a.finalized, b.finalized)


def test_an_abandoned_slot_is_dropped_when_its_instance_is_removed(pools):
    """The instance is finalized on release and not replaced."""
    pool = pools.pool("a")
    a = given_up(pool, lambda: pool.change([], []))

    assert (0, [], [a]) == (pool.idle_count, pool.instances, pool.present)
    end(pool, a)
    assert (1, [], []) == (a.finalized, pool.present, pools.made)


def test_an_instance_released_during_its_replacement_can_be_removed(pools):
    """It is finalized then."""
    pool = pools.pool("a")
    a = given_up(pool, lambda: end(pool, pool.instances[0]))

    pool.change([], [])
    assert (1, [], 0) == (a.finalized, pool.present, pool.idle_count)
