"""The response cache: hits, contents and statistics."""

import pytest

from .asking import tensor
from .counting import counted, samples
from .covering import rows
from .scripted import ACCOUNT, write
from .served import Line, request
from .targets import Request, Value

CACHED = "response_cache { enable: true }"
COUNTING = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.calls = 0

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        self.calls += 1
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        first = x.flat[0] if x.size else 0
        if first == -1:
            raise ValueError(f"boom {self.calls}")
        if first == -2:
            error = pb_utils.TritonError(f"no {self.calls}")
            return pb_utils.InferenceResponse(error=error)
        outputs = [
            pb_utils.Tensor("N", np.array([self.calls], np.int32)),
            pb_utils.Tensor("Y", x * MANY),
        ]
        wanted = request.requested_output_names()
        if first == -3:
            wanted = {"N"}
        return pb_utils.InferenceResponse([t for t in outputs if t.name() in wanted])
"""
CONFIG = """
backend: "python"
input {{ name: "X" data_type: TYPE_INT32 dims: [ -1, -1 ] }}
input {{ name: "Z" data_type: TYPE_INT32 dims: [ 1 ] optional: true }}
output {{ name: "Y" data_type: TYPE_INT32 dims: [ -1, -1 ] }}
output {{ name: "N" data_type: TYPE_INT32 dims: [ 1 ] }}
{more}
"""


class Asked:
    """A model that numbers its executions, on the server with a cache."""

    def __init__(self, target, name, more=CACHED):
        self.target, self.name = target, name
        self.put(CONFIG.format(more=more), 10)
        self.requests = 0

    def put(self, config, many):
        write(self.target, self.name, config, COUNTING.replace("MANY", str(many)))
        self.failure = self.target.load(self.name)

    def again(self, config, many):
        """Unload it, write it anew, and load it."""
        self.target.unload(self.name)
        self.put(config, many)

    def __call__(self, *numbers, shape=None, outputs=(), id="", z=None, **parameters):
        self.requests += 1
        data = tensor(numbers, "int32").data
        inputs = [("X", Value("INT32", shape or (1, len(numbers)), data))]
        inputs += [] if z is None else [("Z", tensor([z], "int32"))]
        asked = Request(self.name, inputs, outputs, id=id, parameters=parameters)
        return self.target.infer(asked)

    def counted(self):
        return counted(self.target, self.name, self.requests)

    def samples(self):
        return samples(self.target, self.name, "nv_cache_num", "nv_inference_count")


@rows("r4.6/key-model-name-version-for-each")
def test_what_counts_as_the_same_question(agree, beside):
    """The key is the bytes of the inputs by name, without shapes and parameters."""

    def case(target):
        ask = Asked(beside(target), "asked")
        return [
            ask(1, 2, 3, 4),
            ask(1, 2, 3, 4, id="b"),
            ask(1, 2, 3, 4, any="thing", priority=1),
            ask(1, 2, 3, 4, sequence_id=5, sequence_start=True),
            ask(1, 2, 3, 4, shape=(2, 2)),
            ask(1, 2, 3, 5),
            ask(1, 2, 3, z=4),
            ask(1, 2, 3, z=4, id="c"),
            ask(shape=(0, 7)),
            ask(shape=(3, 0)),
            Asked(beside(target), "other")(1, 2, 3, 4),
        ]

    agree(case)


@rows(
    "r4.6/hit-model-not-executed-response-has",
    "r4.6/miss-cache_miss-1-lookup-insert-time",
    "r5.4/nv_cache_num_hits_per_model-nv_cache_hit_duration_per_model",
)
def test_answers_of_the_cache_are_counted(agree, beside):
    """They are successes but not executions."""

    def case(target):
        ask = Asked(beside(target), "counting")
        for number in (1, 1, 2, 1, 2):
            ask(number)
        return [ask.counted(), ask.samples()]

    agree(case)


@rows("r4.6/the-whole-model-output-is-stored")
def test_what_was_answered_first_is_the_answer(agree, beside):
    """Outputs are those of the first response, whatever is requested later."""

    def case(target):
        ask = Asked(beside(target), "first")
        return [
            ask(1, outputs=["Y"]),
            ask(1, outputs=["N"]),
            ask(1),
            ask(2),
            ask(2, outputs=["N"]),
            ask(-3, outputs=["Y"]),
            ask(-3),
        ]

    agree(case)


@rows("r4.6/error-responses-are-cached-as-empty")
def test_errors_are_kept_as_empty_answers(agree, beside):
    """Those that a model returns, and those that it raises."""

    def case(target):
        ask = Asked(beside(target), "with_errors")
        answers = [ask(number) for number in (-1, -1, -2, -2, -1)]
        return [answers, ask.counted(), ask.samples()]

    agree(case)


@pytest.mark.parametrize("more", ["", "dynamic_batching { }"])
def test_a_stream_has_an_error_instead_of_new_outputs(agree, beside, more):
    """On a stream only cached outputs and errors of the model reach the client."""

    def case(target):
        server = beside(target)
        name = f"streamed{len(more)}"
        Asked(server, name, f"{CACHED} {more}")
        said = []
        with Line(server) as line:
            for number in (1, 1, -1, -1, -2, 2):
                x = number.to_bytes(4, "little", signed=True)
                asked = request(name, (1, 1), x, "INT32", {"Y": {}}, id=str(number))
                said += line.stream(asked)
        return [said, counted(server, name, 6)]

    agree(case)


def test_a_model_that_was_loaded_anew(agree, beside):
    """It uses the same entries: name and version are equal."""

    def case(target):
        ask = Asked(beside(target), "renewed")
        before = [ask(1), ask(2)]
        ask.again(CONFIG.format(more=CACHED), 100)
        return [before, ask(1), ask(3)]

    agree(case)


@rows("r2.6/response_cache-while-the-server-has-no")
def test_without_a_cache_everything_is_executed(agree, target):
    """The setting loads, and means nothing."""

    def case(target):
        ask = Asked(target, "uncached")
        answers = [ask.failure, ask(1), ask(1), ask.counted(), ask.samples()]
        target.unload("uncached")
        return answers

    agree(case)


def test_a_batcher_asks_the_cache_first(agree, scene):
    """Hits do not wait; the others are executed together."""

    def case(target):
        more = f"dynamic_batching {{ }} {CACHED}"
        with scene(target, "batcher", more) as s:
            s.ask("known", rows=2).result()
            s.hold(rows=7)
            s.ask("new", rows=3)
            s.ask("same", rows=3)
            answered = s.ask("known again", rows=2).result()
            s.go()
            said = s.over()
            return [answered, said, s.groups(), counted(s.target, "batcher", 5)]

    agree(case)


def test_the_cache_is_asked_only_where_it_is_enabled(agree, scene):
    """Other models of the server execute every request."""

    def case(target):
        with scene(target, "careful", "", source=ACCOUNT) as s:
            for id in "ab":
                s.ask(id).result()
            return [s.over(), s.groups(), counted(s.target, "careful", 2)]

    agree(case)
