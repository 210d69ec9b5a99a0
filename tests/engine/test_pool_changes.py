"""Instances that are taken out of a pool, and others that come in."""

from __future__ import annotations

from .pools import Instance, a_request, begin, end, given_up, wait_in


def test_a_free_instance_goes_at_once(pools):
    """The others serve on, in their new order."""
    pool = pools.pool("a", "b", "c")
    a, b, c = pool.instances

    pool.change([2, 1], [])

    assert ([c, b], 1, 0) == (pool.instances, a.finalized, b.finalized)
    assert {b, c} == {begin(pool, a_request()), begin(pool, a_request())}


def test_a_busy_instance_goes_when_it_comes_back(pools):
    """Until then it is present, and takes nothing more."""
    pool = pools.pool("a", "b")
    a = begin(pool, a_request())

    pool.change([1], [])

    assert 0 == a.finalized
    assert a in pool.present
    end(pool, a)
    assert 1 == a.finalized
    assert [pool.instances[0]] == pool.present
    assert pool.instances[0] is begin(pool, a_request())


def test_who_waits_gets_an_instance_that_comes(pools):
    """At once."""
    pool = pools.pool("a")
    begin(pool, a_request())
    thread, taken = wait_in(pool, a_request())

    pool.change([0], [fresh := Instance("b")])

    thread.join()
    assert [fresh] == taken


def test_nobody_fills_the_place_of_an_instance_that_goes(pools):
    """Though it was left behind in a request that ended; it goes when it is back."""
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


def test_a_fresh_instance_goes_with_the_place_that_it_was_made_for(pools):
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


def test_what_was_taken_out_ends_with_the_pool(pools):
    """Also if it was busy at both times."""
    pool = pools.pool("a", "b")
    a, b = begin(pool, a_request()), begin(pool, a_request())
    pool.change([1], [])
    pool.retire()

    end(pool, a)
    end(pool, b)

    assert (1, 1) == (a.finalized, b.finalized)


def test_a_place_that_is_given_up_is_none_once_its_instance_was_taken_out(pools):
    """The instance is finalized when it is released, and is not replaced."""
    pool = pools.pool("a")
    a = given_up(pool, lambda: pool.change([], []))

    assert (0, [], [a]) == (pool.idle_count, pool.instances, pool.present)
    end(pool, a)
    assert (1, [], []) == (a.finalized, pool.present, pools.made)


def test_who_came_back_while_its_place_was_given_up_can_be_taken_out(pools):
    """It is finalized then."""
    pool = pools.pool("a")
    a = given_up(pool, lambda: end(pool, pool.instances[0]))

    pool.change([], [])
    assert (1, [], 0) == (a.finalized, pool.present, pool.idle_count)
