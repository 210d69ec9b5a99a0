"""Random arguments of `pb_utils`: the value of a call, or its error and text."""

from __future__ import annotations

import random

import pytest

from .asking import run
from .test_arguments import SETUP

pytestmark = pytest.mark.timeout(300)  # A busy machine loads, or answers, slowly.
CALLS = 100
"""Number of calls that one request makes."""
PLAIN = r"""
None
5
-1
0
1.5
True
""
"x"
b"x"
bytearray(b"x")
"é"
"\ud800"
2**31
2**32
2**63
2**64 - 1
2**64
-2**63 - 1
float("nan")
float("inf")
[]
()
{}
{"a": 1}
{"a": "b", "c": True}
{"a": 1.5}
{1: 2}
{"a": [1]}
{"O"}
[None]
[5]
["O"]
("O", "O")
["O", b"P", bytearray(b"Q")]
range(3)
range(0)
object
A
t
[t]
(t, t)
[[t]]
p
r
E("e")
E
CPU
M(CPU, 0)
request.trace()
memoryview(b"")
__import__("decimal").Decimal(3)
__import__("fractions").Fraction(7, 2)
__import__("collections").deque([t])
__import__("collections").ChainMap()
type("I", (), {"__int__": lambda self: 7, "__repr__": lambda self: "I"})()
type("I", (), {"__index__": lambda self: 7, "__repr__": lambda self: "I"})()
type("I", (), {"__index__": lambda self: 1 / 0, "__repr__": lambda self: "I"})()
type("F", (), {"__float__": lambda self: 7.0, "__repr__": lambda self: "F"})()
"""
ARRAYS = r"""
np.array([1, 2])
np.array([1.5, 2.5], ">f4")
np.arange(6).reshape(2, 3)[:, ::2]
np.zeros((2, 0), np.int8)
np.array(["a", "b"], object)
np.array([b"a", "é"], object)
np.array([None, 1], object)
np.array(["ab", "c"])
np.array([b"ab", b"c"])
np.array([True, False])
np.array([1j, 2])
np.array([t, t], object)
np.array(["2020", "2021"], "datetime64[D]")
np.array([(1, 2)], "i4,i4")
"""
TEMPLATES = r"""
pb_utils.Tensor({any}, {any}).shape()
pb_utils.Tensor({plain}, A).name()
pb_utils.Tensor("T", {array}).as_numpy().tolist()
pb_utils.Tensor("T", {array}).shape()
R(inputs={any}, requested_output_names={any}, model_name={plain}).flags()
R(inputs={any}, requested_output_names=["O"], model_name="m").flags()
R("", 0, [], {any}, "m").flags()
R(request_id={any}, correlation_id={any}, **ok).request_id()
R(correlation_id={any}, parameters={any}, **ok).correlation_id()
R(flags={any}, timeout={any}, **ok).timeout()
R(flags={plain}, model_version={plain}, **ok).flags()
R(timeout={any}, **ok).timeout()
R(parameters={any}, **ok).parameters()
R(preferred_memory={any}, trace={any}, **ok).flags()
R({plain}, {plain}, [t], ["O"], "m").correlation_id()
r.set_flags({any})
P({any}).has_error()
P({any}, {any}).has_error()
P(output_tensors={any}, error={any}).error().message()
E({any}).message()
E({any}, {any}).code()
L.log({any})
L.log_info({any})
L.log({any}, {any})
M({any}, {any})
pb_utils.get_input_tensor_by_name(request, {plain})
pb_utils.get_output_tensor_by_name(p, {plain})
pb_utils.is_model_ready({any})
pb_utils.is_model_ready({any}, {any})
pb_utils.triton_string_to_numpy({plain})
"""


def calls(seed: int) -> list[str]:
    """Draw calls."""
    rng = random.Random(seed)
    plain, arrays = PLAIN.strip().splitlines(), ARRAYS.strip().splitlines()
    kinds = {"{plain}": plain, "{array}": arrays, "{any}": plain + arrays}
    found = rng.choices(TEMPLATES.strip().splitlines(), k=CALLS)
    for kind, values in kinds.items():
        for number, call in enumerate(found):
            parts = call.split(kind)
            texts = [rng.choice(values) for _ in parts[1:]] + [""]
            pairs = zip(parts, texts, strict=True)
            found[number] = "".join(part + text for part, text in pairs)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_random_arguments(agree, seed):
    """Each call returns Triton's value, or raises its class and text."""
    trials = "\n".join(f"trial(lambda: ({call}))" for call in calls(seed))

    agree(lambda target: run(target, SETUP + trials))
