"""Specification of BLSNB_ZERO_COPY, and of what is never copied twice."""

import numpy as np
import pytest
from cells import CONFIG, cell

from blsnb.tensors.buffers import LARGE

ZERO_COPY = 'parameters { key: "BLSNB_ZERO_COPY" value { string_value: "true" } }'
PASSING = cell("return [reply(x_of(request))]")
WRITING = cell("x = x_of(request)\nx[:] = 1\nreturn [reply(x)]")
X = {"X": np.zeros(LARGE, np.float32)}


def places(run):
    """Return the addresses of the values of input and output."""
    call = run.trace.spans[0]
    return [
        np.frombuffer(ref.data, np.uint8).ctypes.data
        for ref in (call.inputs[0], call.outputs[0])
    ]


@pytest.mark.parametrize(
    ("value", "is_on"),
    [
        *dict.fromkeys(("1", "true", "yes", "on", "True", "YES"), True).items(),
        *dict.fromkeys(("", "0", "no", "2"), False).items(),
    ],
)
def test_a_large_tensor_is_forwarded_without_a_copy(server, value, is_on):
    """Neither reading nor returning it copies."""
    setting = ZERO_COPY.replace("true", value)
    server.define("passing", PASSING, config=CONFIG + setting)
    asked, answered = places(server.infer("passing", X))

    assert is_on is (asked == answered)


def test_without_the_parameter_every_receiver_has_a_copy(server):
    """The copy can be written; the sent value does not change."""
    server.define("writing", WRITING, config=CONFIG)
    run = server.infer("writing", X)
    asked, answered = places(run)

    assert asked != answered
    assert 0 == run.trace.spans[0].inputs[0].view().max()
    assert 1 == run["Y"].min()


def test_what_is_not_copied_cannot_be_written(server):
    """A model that writes gets an error; other models see no change."""
    server.define("writing", WRITING, config=CONFIG + ZERO_COPY)

    with pytest.raises(Exception, match="read-only"):
        server.infer("writing", X)
