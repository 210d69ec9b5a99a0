"""Configurations that are parsed, completed and refused."""

import pytest
from model.accepted import ACCEPTED
from model.refusals import CREATE, PLAIN, POLL

from .covering import rows, statuses
from .loading import PLAIN as SOURCE
from .loading import load

NUMBERED = [row for row in statuses() if row.startswith("r2.6/")]
"""The rows of the table of errors in order of their numbers, then the ensembles'."""


def row_of(refusal):
    """The row of a refusal, whose name begins with the row's number."""
    number = refusal.row.split()[0].rstrip(",")
    return NUMBERED[int(number) - 1] if number.isdigit() else ()


def named(refusals):
    """Refusals by name, without the character that parts the words of an id."""
    return {each.row.replace("-", " "): each for each in refusals}


POLLED, CREATED = named(POLL), named(CREATE)
STATE = """sequence_batching {{ state {{ input_name: "IS" output_name: "OS"
data_type: TYPE_FP32 dims: [ {dims} ] {initial} }} }}"""


def initial(fields):
    """An initial state."""
    return f"initial_state {{ {fields} }}"


ZERO = "data_type: TYPE_FP32 dims: [ 1 ] zero_data: true"
STATES = {
    "51": STATE.format(dims=1, initial=initial(ZERO + " name: 'a'") * 2),
    "52": STATE.format(
        dims=1, initial=initial(f"{ZERO.replace('32', '64')} name: 'a'")
    ),
    "53": STATE.format(dims=1, initial=initial(ZERO)),
    "54": STATE.format(dims=1, initial=initial(f"{ZERO} dims: 1 name: 'a'")),
    "55": STATE.format(
        dims=1, initial=initial("data_type: TYPE_FP32 dims: 1 name: 'a'")
    ),
    "56": STATE.format(dims=2, initial=initial(f"{ZERO} name: 'a'")),
    "56, variable": STATE.format(
        dims=-1, initial=initial(f"{ZERO.replace('1', '-1')} name: 'a'")
    ),
}
WRONG = {
    **{name: each.pbtxt for name, each in CREATED.items()},
    "24": f"{PLAIN} output {{ name: 'L' data_type: TYPE_FP32 dims: 1 "
    "label_filename: 'labels.txt' }",
}
OF_EACH_KIND = ["4", "8", "24", "25", "22, without type", "28 before 8"]
TYPELESS = "batch_input { kind: BATCH_ELEMENT_COUNT target_name: 'B' }"
TWICE_WRONG = {
    "without type or source": f"{PLAIN} {TYPELESS}",
    "an output without dims": (
        f"{PLAIN} output {{ name: 'X' data_type: TYPE_FP32 }} {TYPELESS}"
    ),
}
METHODS = {
    "less than it says": ("max_batch_size: 4", "c.set_max_batch_size(2)"),
    "batches": ("sequence_batching { }", "c.set_dynamic_batching()"),
    "other dims": ("input { name: 'A' dims: [ 5 ] }", "c.add_input(A)"),
    "an optional output": ("", "c.add_output({**A, 'optional': True})"),
    "another policy": ("", "c.set_model_transaction_policy({'coupled': True})"),
    "decoupled": (
        "model_transaction_policy { decoupled: false }",
        "c.set_model_transaction_policy({'decoupled': True})",
    ),
    "all in order": (
        "max_batch_size: 4 input { name: 'B' } dynamic_batching { "
        "preserve_ordering: true }",
        """c.set_max_batch_size(8)
        c.set_dynamic_batching()
        c.add_input({**A, "optional": True})
        c.add_input({**A, "name": "B"})
        c.add_output(A)
        c.set_model_transaction_policy({"decoupled": True})""",
    ),
}
IO = """max_batch_size: 4 input { name: 'A' data_type: TYPE_INT8 dims: 4 }
output { name: 'B' data_type: TYPE_INT8 dims: 4 }"""
TREE = "c.as_dict()"
COMPLETIONS = {
    "no value of JSON": (
        "",
        "import numpy; c.add_input({**A, 'dims': [numpy.int8(4)]})",
    ),
    "a negative batch size": (IO, f"{TREE}['max_batch_size'] = -1"),
    "a preferred size above the maximum": (
        IO,
        f"{TREE}['dynamic_batching'] = {{'preferred_batch_size': [8]}}",
    ),
    "no default priority": (
        IO,
        f"{TREE}['dynamic_batching'] = {{'priority_levels': 2}}",
    ),
    "an ensemble": ("", f"{TREE}['ensemble_scheduling'] = {{}}"),
    "sequences": ("", f"{TREE}['sequence_batching'] = {{}}"),
    "two schedulers": (
        "",
        f"{TREE}.update(sequence_batching={{}}, dynamic_batching={{}})",
    ),
    "an unknown key": (IO, f"c.set_max_batch_size(5); {TREE}['foo'] = 1"),
    "a fault in a key without effect": (
        IO,
        f"c.set_max_batch_size(5); {TREE}['parameters'] = {{'a': 'b'}}",
    ),
    "less than there was": (IO, f"del {TREE}['input'], {TREE}['max_batch_size']"),
    "infinite": (IO, f"{TREE}['x'] = float('inf')"),
    "a lone surrogate": (IO, f"{TREE}['x'] = '\\ud800'"),
    "nothing": (IO, "c._model_config = None"),
    "a text as a bool": (IO, "c.set_model_transaction_policy({'decoupled': 'True'})"),
    "lists in a list": ("", "c.add_input({**A, 'dims': [[4, [1]], None]})"),
    "a number in a text": ("", "c.add_input({**A, 'data_type': '2'})"),
    "a policy that is a list": ("", "c.set_model_transaction_policy(['decoupled'])"),
    "a type that is a number": (IO, "c.add_input({**A, 'data_type': 7})"),
    "other text": ("", "import triton_python_backend_utils as p; p.ModelConfig('{')"),
    "a class of its own": (
        IO,
        """import triton_python_backend_utils as p
        class Own(p.ModelConfig):
            def as_dict(self): return {}
        c = Own(__import__('json').dumps(c.as_dict()))""",
    ),
}
COMPLETING = """
    @staticmethod
    def auto_complete_config(c):
        A = {{"name": "A", "data_type": "TYPE_INT8", "dims": [4]}}
        {code}
        return c
"""


@rows({name: row_of(each) for name, each in POLLED.items()})
@rows("r1.6/poll-stage-text-parse-normalize-structural")
@pytest.mark.parametrize("name", POLLED)
def test_refused_at_the_poll_stage(agree, beside, name):
    """The caller receives a general text; the log contains the reason."""
    agree(lambda target: load(beside(target), "m", POLLED[name].pbtxt))


@rows({name: row_of(CREATED[name]) for name in CREATED})
@rows({"24": NUMBERED[23]})
@pytest.mark.parametrize("name", [*WRONG, *TWICE_WRONG])
def test_refused_by_a_strict_server(agree, beside, name):
    """Most are refused at the poll stage, with the reason in the log."""
    text = (WRONG | TWICE_WRONG)[name]
    agree(lambda target: load(beside(target), "m", text))


@rows({name: NUMBERED[int(name[:2]) - 1] for name in STATES})
@pytest.mark.parametrize("name", STATES)
def test_initial_states_must_fit(agree, name):
    """The caller receives the reason; the real server may end shortly afterwards."""
    text = f"{PLAIN} {STATES[name]}"
    agree(lambda target: target.at_risk(lambda server: load(server, "m", text)))


@rows("r1.6/create-stage-auto-complete-i-o")
@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_refused_at_the_create_stage(agree, completing, name):
    """The caller receives the reason if configurations are auto-completed."""
    agree(lambda target: load(completing(target), "m", WRONG[name]))


@rows(
    {
        "less than it says": "r1.7/set_max_batch_size-n",
        "batches": "r1.7/set_dynamic_batching",
        "other dims": "r1.7/other-dims-model-m-tensor-i",
        "an optional output": "r1.7/add_output-d",
        "another policy": "r1.7/set_model_transaction_policy-decoupled-b",
        "decoupled": "r1.7/set_model_transaction_policy-decoupled-b",
        "all in order": (
            "r1.7/set_max_batch_size-n",
            "r1.7/set_dynamic_batching",
            "r1.7/add_input-d",
            "r1.7/add_output-d",
            "r1.7/set_model_transaction_policy-decoupled-b",
        ),
    }
)
@pytest.mark.parametrize("name", METHODS)
def test_what_a_model_adds_to_its_configuration(agree, completing, name):
    """It adds missing fields, and may not contradict others."""
    more, code = METHODS[name]
    source = SOURCE + COMPLETING.format(code=code)
    text = f"{PLAIN} {more}"
    agree(lambda target: load(completing(target), "m", text, source))


@rows("r1.7/set_max_batch_size-n", "r1.7/a-data-type-that-is-not")
@pytest.mark.parametrize("name", COMPLETIONS)
def test_what_a_model_does_to_its_configuration(agree, completing, name):
    """The whole JSON text is read, and the result is checked like a file."""
    more, code = COMPLETIONS[name]
    source = SOURCE + COMPLETING.format(code=code)
    text = f"{PLAIN} {more}" if more else None

    def case(target):
        return load(completing(target), "m", text, source)

    agree(case, python_speaks=True)


def test_ours_of_a_policy_that_is_a_number(blsnb):
    """On Triton the server ends."""
    code = "c.set_model_transaction_policy({'decoupled': 1})"
    source = SOURCE + COMPLETING.format(code=code)
    failure, *_ = load(blsnb, "m", PLAIN, source)

    assert "sets 'decoupled' to 1; expected a bool" in failure.text


@rows(
    {
        "duplicate names": NUMBERED[9],
        "variable first dimension": NUMBERED[10],
        "other platform": NUMBERED[4],
        "plain": (
            "r2.3/name",
            "r2.3/backend-default_model_filename",
            "r2.3/version_policy",
            "r2.3/optimization",
            "r2.3/instance_group-absent",
            "r2.3/max_batch_size",
        ),
        "reshape": ("r2.2/input", "r2.2/data-types"),
        "scalar reshape": "r2.2/output",
        "dynamic batching": (
            "r2.2/dynamic_batching",
            "r2.3/dynamic_batching-preferred_batch_size",
        ),
        "priorities": "r2.2/queue-policy",
        "sequence": (
            "r2.2/sequence_batching",
            "r2.3/sequence_batching-max_sequence_idle_microseconds",
        ),
        "oldest": "r2.3/sequence_batching-oldest-preferred_batch_size",
        "instance groups": ("r2.2/instance_group", "r2.3/instance_group-unnamed"),
        "batch input": "r2.2/batch_input-batch_output",
        "parameters": "r2.2/parameters",
        "policies": "r2.2/others",
        "optimization": "r2.2/others",
        "a control that is an input": NUMBERED[47],
    }
)
@pytest.mark.parametrize("name", [*ACCEPTED, "a control that is an input"])
def test_a_configuration_is_filled_in(agree, beside, name):
    """Its JSON text has all fields, in Triton's order and with Triton's defaults."""
    control = (
        "sequence_batching { control_input { name: 'X' control { "
        "kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } } }"
    )
    text = ACCEPTED.get(name, f"{PLAIN} {control}")
    agree(lambda target: load(beside(target), "m", text))


READ = {
    "field-v-field-field-field": [
        "backend: 'python' input { name: 'X' data_type: TYPE_FP32 dims: 1 } "
        "output: < name: 'Y' data_type: TYPE_FP32 dims: 1 > dynamic_batching: { }",
        "backend 'python'",
    ],
    "separators": ["max_batch_size: 4, backend: 'python';", "max_batch_size: 4,, "],
    "lists": [
        "backend: 'python' input [ { name: 'X' data_type: TYPE_FP32 dims: [ 2, 3 ] }, "
        "{ name: 'W' data_type: TYPE_FP32 dims: 4 dims: 5 } ] "
        "input { name: 'Z' data_type: TYPE_FP32 dims: [ ] dims: [ 1 ] }",
        "input { dims: [ 1, ] }",
        "input [ { }, ]",
    ],
    "list-on-a-non-repeated-scalar": ["max_batch_size: [ 1 ]"],
    "comments": [
        "# one\nbackend: 'python' # two",
        "// one\nbackend: 'python'",
        "# one\rbackend: 2\r\nbackend: 'python'",
        "backend: 'python' # one\0two\n",
    ],
    "strings": [
        "backend: \"py\" 'th'\n'on' parameters { key: 'ä\\n\\x41' value { "
        "string_value: '\\101\\t\"' } }",
        "backend: 'pyth\non'",
        "backend: 'python' parameters { key: 'a\rb' }",
        "backend: 'python' parameters { key: 'a\0b' }",
        "backend: python",
    ],
    "ints": [
        "backend: 'python' max_batch_size: 010",
        "backend: 'python' max_batch_size: 0x1F",
        "backend: 'python' version_policy { specific { versions: [ 1, 2 ] } } "
        "instance_group { count: - 3 }",
        "max_batch_size: +4",
        "max_batch_size: 1.5",
        "max_batch_size: '4'",
        "max_batch_size: 3000000000",
        "dynamic_batching { priority_levels: -1 }",
    ],
    "bool": [
        *(
            f"backend: 'python' model_transaction_policy {{ decoupled: {value} }}"
            for value in ("true", "True", "t", "1", "false", "False", "f", "0")
        ),
        "model_transaction_policy { decoupled: yes }",
        "model_transaction_policy { decoupled: 'true' }",
    ],
    "enum": [
        "backend: 'python' input { name: 'X' data_type: 99 dims: 1 } "
        "input { name: 'Z' data_type: 13 dims: 1 }",
        "input { data_type: TYPE_FLOAT }",
        "input { data_type: type_fp32 }",
        "input { data_type: 'TYPE_FP32' }",
    ],
    "map": [
        "backend: 'python' parameters { key: 'a' value { string_value: 'b' } } "
        "parameters { key: 'a' value { string_value: 'c' } }",
        "backend: 'python' parameters { value { string_value: 'b' } }",
        "parameters { a: 'b' }",
        "parameters { key: 'a' value: 'b' }",
    ],
    "unknown-field": ["foo: 1", "input { foo: 1 }"],
    "camelcase-names-json-text": ["maxBatchSize: 4", '{ "max_batch_size": 4 }'],
    "scalar-twice": ["max_batch_size: 4 max_batch_size: 5"],
    "two-members-of-a-oneof": [
        "dynamic_batching { } sequence_batching { }",
        "version_policy { all { } latest { } }",
    ],
    "missing-extra-brace": ["input {", "input { } }"],
}


@rows({name.replace("-", " "): f"r2.1/{name}" for name in READ})
@pytest.mark.parametrize("name", [each.replace("-", " ") for each in READ])
def test_how_a_configuration_is_read(agree, beside, name):
    """The values of a text, or the position of its first error."""
    texts = READ[name.replace(" ", "-")]

    def case(target):
        server = beside(target)
        answers = [load(server, "m", text) for text in texts]
        # Triton's own words on texts are in its log only, and are protobuf's.
        return [each if each[0] is None else each[::2] for each in answers]

    agree(case)


RUNTIMES = {
    "missing": ["nope.so", " ", "1/../nope", "/lib/libc.so.6", "libtriton_nope.so"],
    "another file": ["config.pbtxt", "1", "short"],
}


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_that_is_not_the_library_of_the_backend(agree, beside, name):
    """It is searched in the model's folders, and in that of the backend."""

    def case(target):
        files = {"short": b"x"}
        texts = [f"{PLAIN} runtime: '{each}' # {'-' * 64}" for each in RUNTIMES[name]]
        return [load(beside(target), "m", text, files=files) for text in texts]

    agree(case)


def test_a_runtime_is_searched_before_other_checks(agree, beside):
    """Of an unknown backend, too, and before instance groups are checked."""
    texts = (
        "runtime: 'x.so' instance_group { kind: KIND_CPU gpus: 1 }",
        "runtime: 'x.so' backend: 'nope'",
    )
    agree(lambda target: [load(beside(target), "m", text)[0] for text in texts])


def test_metrics_of_models_are_an_unknown_field(agree, beside):
    """The release beside the tests has no model_metrics."""
    text = f"{PLAIN} model_metrics {{ }}"
    agree(lambda target: load(beside(target), "m", text)[0])
