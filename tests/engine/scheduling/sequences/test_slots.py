import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.engine.scheduling.sequences.slots import FreeSlots, Slot

# What the real server chose; its instances come in the order in which they loaded.
SEEN = {
    (2, 2): [0, 1, 0, 1],
    (3, 2): [0, 1, 2, 2, 1, 0],
    (2, 3): [0, 1, 1, 0, 1, 0],
    (3, 3): [0, 2, 1, 1, 2, 0, 0, 1, 2],
    (4, 2): [0, 1, 3, 2, 2, 3, 0, 1],
}


@pytest.mark.parametrize(("instances", "slots"), SEEN)
def test_instances_are_chosen_as_the_real_server_chooses_them(instances, slots):
    """The lowest slot is first; equal ones are in the order of the heap."""
    free = FreeSlots(instances, slots)
    taken = [free.take() for _ in range(instances * slots)]

    assert SEEN[instances, slots] == [slot.instance for slot in taken]
    assert [number for number in range(slots) for _ in range(instances)] == [
        slot.number for slot in taken
    ]


def test_slots_that_were_given_back_are_chosen_as_on_the_real_server():
    """Sequences 3, 2, 4 and 1 end, and four new ones start."""
    free = FreeSlots(2, 2)
    slots = {sequence: free.take() for sequence in (1, 2, 3, 4)}
    for sequence in (3, 2, 4, 1):
        free.add(slots[sequence])

    assert [(1, 0), (0, 0), (0, 1), (1, 1)] == [free.take() for _ in range(4)]


def test_no_slot_is_left_when_all_are_taken():
    """Taking another one is an error."""
    free = FreeSlots(1, 1)
    free.take()

    assert 0 == len(free)
    with pytest.raises(IndexError):
        free.take()


@given(st.lists(st.integers(-1, 30), max_size=60), st.integers(1, 4), st.integers(1, 4))
def test_a_slot_is_never_given_twice_and_always_the_lowest(steps, instances, slots):
    """The order of takes and releases is arbitrary."""
    free = FreeSlots(instances, slots)
    everything = {Slot(i, k) for i in range(instances) for k in range(slots)}
    taken: list[Slot] = []
    for step in steps:
        if step < 0 and len(free):
            left = everything - set(taken)
            slot = free.take()
            assert slot in left
            assert min(each.number for each in left) == slot.number
            taken.append(slot)
        elif taken:
            free.add(taken.pop(step % len(taken)))

    assert len(everything) - len(taken) == len(free)
