"""Configurations that ask for more than one process holds."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE, instances

from blsnb.errors import ModelLoadError
from blsnb.model.rules.instances import MAX_INSTANCES, MAX_SLOTS

X = {"X": [1, 2]}
MAX_INT32 = 2**31 - 1
TOO_MANY = {
    "a million": instances(1_000_000),
    "the largest number": instances(MAX_INT32),
    "one too many": instances(MAX_INSTANCES + 1),
    "several groups": instances(MAX_INSTANCES) + "instance_group { count: 1 }",
    "one of them without a count": instances(MAX_INSTANCES) + "instance_group { }",
}
SEQUENCES = {
    "oldest": (
        f"sequence_batching {{ oldest {{ max_candidate_sequences: {MAX_INT32} }} }}\n"
        "max_batch_size: 4"
    ),
    "oldest without a number": (
        f"sequence_batching {{ oldest {{ }} }}\nmax_batch_size: {MAX_INT32}"
    ),
    "direct": f"sequence_batching {{ direct {{ }} }}\nmax_batch_size: {MAX_INT32}",
    "all instances together": (
        f"sequence_batching {{ direct {{ }} }}\nmax_batch_size: {MAX_SLOTS}\n"
        "instance_group { count: 2 }"
    ),
}


@pytest.mark.parametrize("config", TOO_MANY.values(), ids=TOO_MANY)
def test_more_instances_than_one_process_holds_are_refused(server, config):
    """The load fails at once, and the old version still serves."""
    server.define("many", DOUBLE, config=instances(2))

    with pytest.raises(ModelLoadError) as caught:
        server.define("many", DOUBLE, config=config)

    assert "more than the 1,024 that blsnb runs in one process" in caught.value.message
    assert "Lower the count of instance_group" in str(caught.value)
    assert [2, 4] == server.infer("many", X)["Y"].tolist()


def test_the_maximum_number_of_instances_loads(server):
    """Each of them is made."""
    config = instances(MAX_INSTANCES)
    source = "import triton_python_backend_utils\nclass TritonPythonModel:\n    pass\n"

    server.define("many", source, config=config)

    assert "READY" == server.index()[0]["state"]


@pytest.mark.parametrize("more", SEQUENCES.values(), ids=SEQUENCES)
def test_more_slots_for_sequences_than_one_process_holds_are_refused(server, more):
    """They are refused before any is made."""
    with pytest.raises(
        ModelLoadError, match=r"sequences at a time, more than the 131,"
    ):
        server.define("many", DOUBLE, config=CONFIG + more)
