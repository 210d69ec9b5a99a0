"""Specification of how BLS calls are found in sources."""

import numpy as np
import pytest

from blsnb.model_graph.sources.bls_calls import bls_calls
from blsnb.model_graph.sources.possible import Evaluator
from blsnb.model_graph.sources.source import Program, Source
from blsnb.tensors.dtypes import of_array

HEAD = "import triton_python_backend_utils as pb_utils\n"


def calls_of(text, parameters=None, **modules):
    """Return the calls in a model whose other modules are given by name."""
    known = {}
    program = Program(lambda name: known.get(name))
    for name, module in modules.items():
        known[name] = Source(f"{name}.py", module.encode(), program)
    source = Source("model.py", (HEAD + text).encode(), program)
    return bls_calls(source, Evaluator(parameters or {}))


NAMES = """
FIRST = 'a'
KINDS = {'en': 'k', 'de': 'l'}
def converted(name, pytype=str):
    return pytype(name)
"""
TARGETS = {
    "a literal": ("pb_utils.InferenceRequest(model_name='a')", ["a"]),
    "the fifth argument": ("pb_utils.InferenceRequest('', 0, [], [], 'a')", ["a"]),
    "a constant": ("NAME = 'a'\npb_utils.InferenceRequest(model_name=NAME)", ["a"]),
    "an f-string": (
        "KIND = 'rank'\npb_utils.InferenceRequest(model_name=f'{KIND}_model')",
        ["rank_model"],
    ),
    "a choice": (
        "pb_utils.InferenceRequest(model_name='a' if fast else 'b')",
        ["a", "b"],
    ),
    "a loop": (
        "for name in ('a', 'b'):\n    pb_utils.InferenceRequest(model_name=name)",
        ["a", "b"],
    ),
    "a loop over pairs": (
        "for name, out in [('a', 'X'), ('b', 'Y')]:\n"
        "    pb_utils.InferenceRequest(model_name=name)",
        ["a", "b"],
    ),
    "a table": (
        "NAMES = {'en': 'a', 'de': 'b'}\n"
        "pb_utils.InferenceRequest(model_name=NAMES[language])",
        ["a", "b"],
    ),
    "an attribute": (
        "class TritonPythonModel:\n"
        "    def initialize(self, args):\n"
        "        self.name = 'a'\n"
        "    def execute(self, requests):\n"
        "        pb_utils.InferenceRequest(model_name=self.name)",
        ["a"],
    ),
    "a parameter of the configuration": (
        "name = config['parameters']['next']['string_value']\n"
        "pb_utils.InferenceRequest(model_name=name)",
        ["from the configuration"],
    ),
    "a default of a missing parameter": (
        "name = config['parameters'].get('none', {}).get('string_value', 'a')\n"
        "pb_utils.InferenceRequest(model_name=name)",
        ["a"],
    ),
    "arguments in a dict": (
        "asked = {'model_name': 'a'}\npb_utils.InferenceRequest(**asked)",
        ["a"],
    ),
    **{
        text: (f"{NAMES}pb_utils.InferenceRequest(model_name={text})", expected)
        for text, expected in {
            "'a' + '_b'": ["a_b"],
            "FIRST or 'c'": ["a", "c"],
            "(name := FIRST)": ["a"],
            "str(FIRST)": ["a"],
            "' A '.strip().lower()": ["a"],
            "FIRST.upper()": ["A"],
            "'the_a'.removeprefix('the_')": ["a"],
            "'a_v2'.removesuffix('_v2')": ["a"],
            "FIRST.replace('a', KINDS['en'])": ["k"],
            "'{}_{}'.format(FIRST, KINDS['en'])": ["a_k"],
            "KINDS['de']": ["l"],
            "KINDS.get(language, 'c')": ["c", "k", "l"],
            "[FIRST, 'b'][number]": ["a", "b"],
            "converted('a')": ["a"],
        }.items()
    },
    **{
        statement: (
            f"{NAMES}{statement}:\n    pb_utils.InferenceRequest(model_name=name)",
            expected,
        )
        for statement, expected in {
            "for number, name in enumerate(['a', 'b'])": ["a", "b"],
            "for name, kind in KINDS.items()": ["de", "en"],
            "for name, *rest in [['a', 'x'], ('b',)]": ["a", "b"],
            "if name := FIRST": ["a"],
            "name: str = 'a'\nif name": ["a"],
            "name, other = 'a', 'b'\nif name": ["a"],
            "name = other = 'a'\nif name": ["a"],
        }.items()
    },
    "a comprehension": (
        "[pb_utils.InferenceRequest(model_name=name) for name in ('a', 'b')]",
        ["a", "b"],
    ),
    **{
        f"each of {several}": (
            f"{NAMES}for name in {several}:\n"
            "    pb_utils.InferenceRequest(model_name=name)",
            expected,
        )
        for several, expected in {
            "KINDS": ["de", "en"],
            "KINDS.values()": ["k", "l"],
            "{'a', 'b'}": ["a", "b"],
            "['a'] + ['b']": ["a", "b"],
        }.items()
    },
    "an imported class": (
        "from triton_python_backend_utils import InferenceRequest as Request\n"
        "Request(model_name='a')",
        ["a"],
    ),
}


@pytest.mark.parametrize("case", TARGETS)
def test_a_target_is_decided(case):
    """By literals, constants, loops, tables, attributes and the configuration."""
    text, expected = TARGETS[case]

    [call] = calls_of(text, {"next": "from the configuration"})

    assert expected == sorted(call.targets)
    assert "" == call.undecided


UNDECIDED = {
    "an input": "name = tensor.as_numpy()[0]\n",
    "the environment": "import os\nname = os.environ['NEXT']\n",
    "a changed text": "name = 'a'\nname += suffix\n",
    "no assignment": "",
    "a part of a text": "name, other = 'ab'\n",
    "a longer list": "name, *rest = 'a', 'b', 'c'\n",
    "parts of each text": "for n, (name, _) in enumerate(('ab', 'cd')): pass\n",
    "parts of rows that are not known": "for n, name in [('x', 'a'), row]: pass\n",
    "parts of rows that are shorter": "for n, name in [('x', 'a'), ('y',)]: pass\n",
    "a method of an input": "name = tensor.name().lower()\n",
    "a method with an input": "name = 'a'.replace('a', tensor.name())\n",
    "a format with names": "name = '{kind}'.format(kind='a')\n",
    "a format that fails": "name = '{}'.format()\n",
    "a method with too few arguments": "name = 'a'.replace('a')\n",
    "a call of another method": "name = 'a'.title()\n",
    "a part that is an input": "name = 'a' + tensor.name()\n",
    "a formatted number": "name = f'{1:03}'\n",
    "a function without a result": "def f(): pass\nname = f()\n",
    "a function that calls itself": "def f(): return f()\nname = f()\n",
    "an element of a text": "name = 'abc'[0]\n",
    "elements of an input": "for name in tensor.names(): pass\n",
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_an_undecided_target_is_its_expression(case):
    """What depends on a request or on the environment is no guess."""
    [call] = calls_of(f"{UNDECIDED[case]}pb_utils.InferenceRequest(model_name=name)")

    assert "name" == call.undecided


@pytest.mark.parametrize(
    ("rows", "columns", "is_decided"),
    [(8, 8, True), (5, 13, False), (1, 64, True), (1, 65, False)],
)
def test_at_most_64_names_are_followed(rows, columns, is_decided):
    """More are no choice that a reader would look through."""
    texts = [[chr(65 + n) for n in range(count)] for count in (rows, columns)]
    [call] = calls_of(
        f"for first in {texts[0]}:\n"
        f"    for second in {texts[1]}:\n"
        "        pb_utils.InferenceRequest(model_name=first + second)\n"
    )

    expected = [a + b for a in texts[0] for b in texts[1]] if is_decided else []
    assert expected == sorted(call.targets)
    assert is_decided == (call.undecided == "")


@pytest.mark.parametrize(("count", "is_decided"), [(12, True), (13, False)])
def test_at_most_12_names_are_followed_for_a_target(count, is_decided):
    """Sources may define names in circles."""
    names = "".join(f"n{number} = n{number - 1}\n" for number in range(1, count))
    [call] = calls_of(
        f"n0 = 'a'\n{names}pb_utils.InferenceRequest(model_name=n{count - 1})\n"
    )

    assert is_decided == (call.targets == ("a",))


def test_a_helper_function_is_a_call_for_each_of_its_callers():
    """With the arguments and the line of each."""
    calls = calls_of(
        "def ask(name, outputs):\n"
        "    request = pb_utils.InferenceRequest(\n"
        "        model_name=name, requested_output_names=outputs)\n"
        "    return request.exec()\n"
        "ask('a', ['X'])\n"
        "ask(name='b', outputs=['Y'])\n"
    )

    assert [
        (6, ("a",), ("X",)),
        (7, ("b",), ("Y",)),
    ] == [(call.line, call.targets, call.outputs) for call in calls]


def test_a_helper_function_is_analysed_for_its_first_50_callers():
    """Further ones are left out."""
    names = [f"m{number}" for number in range(51)]
    calls = calls_of(
        "def ask(name):\n    return pb_utils.InferenceRequest(model_name=name).exec()\n"
        + "".join(f"ask('{name}')\n" for name in names)
    )

    assert [(name,) for name in names[:50]] == [call.targets for call in calls]


def test_a_helper_function_that_calls_itself_has_the_names_of_its_callers():
    """Its own calls add none."""
    calls = calls_of(
        "def ask(name, left=3):\n"
        "    pb_utils.InferenceRequest(model_name=name).exec()\n"
        "    if left:\n"
        "        ask(name, left - 1)\n"
        "ask('a')\n"
    )

    assert [(6, ("a",))] == [(call.line, call.targets) for call in calls]


def test_names_come_from_modules_beside_the_model():
    """Constants, also those that are made of others of their module."""
    calls = calls_of(
        "import names\n"
        "from names import SECOND, THIRD\n"
        "pb_utils.InferenceRequest(model_name=names.FIRST)\n"
        "pb_utils.InferenceRequest(model_name=SECOND)\n"
        "pb_utils.InferenceRequest(model_name=THIRD)\n",
        names="FIRST = 'a'\nSECOND = 'b'\nTHIRD = f'{SECOND}_again'\n",
    )

    assert [("a",), ("b",), ("b_again",)] == [call.targets for call in calls]


@pytest.mark.parametrize(
    ("executed", "expected"),
    [
        ("request.exec()", (False, False)),
        ("request.async_exec()", (True, False)),
        ("request.exec(decoupled=True)", (False, True)),
        ("request.async_exec(decoupled=True)", (True, True)),
    ],
)
def test_how_a_request_is_executed_is_read(executed, expected):
    """Synchronously or not, as one response or a stream."""
    [call] = calls_of(
        f"def execute():\n"
        f"    request = pb_utils.InferenceRequest(model_name='a')\n"
        f"    {executed}\n"
    )

    assert expected == (call.is_async, call.is_stream)


def test_sent_tensors_are_read_with_type_and_shape():
    """Where the source tells them; a list that grows tells nothing."""
    literal, grown = calls_of(
        "import numpy as np\n"
        "def execute(request):\n"
        "    x = pb_utils.get_input_tensor_by_name(request, 'X')\n"
        "    more = [x]\n"
        "    more.append(y)\n"
        "    pb_utils.InferenceRequest(model_name='a', inputs=[\n"
        "        x,\n"
        "        pb_utils.Tensor('HALF', x.as_numpy().astype(np.float16)),\n"
        "        pb_utils.Tensor('ZEROS', np.zeros((1, 3), dtype=np.int32)),\n"
        "    ])\n"
        "    pb_utils.InferenceRequest(model_name='a', inputs=more)\n"
    )
    assert literal.inputs is not None
    own, half, zeros = literal.inputs

    assert ("X", "X") == (own.name, own.own_input)
    assert ("HALF", "FP16") == (half.name, half.datatype)
    assert ("ZEROS", "INT32", (1, 3)) == (zeros.name, zeros.datatype, zeros.shape)
    assert grown.inputs is None


@pytest.mark.parametrize(
    "made",
    [
        *(f"np.{name}((2, 3))" for name in ("zeros", "ones", "empty")),
        *(f"np.{name}((2, 3), np.int8)" for name in ("zeros", "ones", "empty")),
        "np.full((2, 3), 1, np.int16)",
        "np.full((2, 3), 1, dtype='float16')",
        *(f"np.{name}([[1, 2]], np.uint8)" for name in ("array", "asarray")),
        *(f"np.{name}([[1.5, 2]])" for name in ("array", "asarray")),
        "np.array([True, False])",
    ],
)
def test_a_made_array_is_read_as_numpy_makes_it(made):
    """Type and shape are those of the array, whether given or a default."""
    [call] = calls_of(
        "import numpy as np\n"
        "pb_utils.InferenceRequest(model_name='a', inputs=[\n"
        f"    pb_utils.Tensor('T', {made})])\n"
    )
    array = eval(made, {"np": np})
    row = of_array(array.dtype)

    assert row is not None
    assert [(row.datatype, array.shape)] == [
        (each.datatype, each.shape) for each in call.inputs
    ]


@pytest.mark.parametrize("dtype", ["np.nosuch", "'nosuch'", "np.datetime64", "3"])
def test_an_array_of_a_type_that_triton_lacks_has_no_known_type(dtype):
    """Its shape is known all the same."""
    [call] = calls_of(
        "import numpy as np\n"
        "pb_utils.InferenceRequest(model_name='a', inputs=[\n"
        f"    pb_utils.Tensor('T', np.zeros(3, {dtype}))])\n"
    )

    assert [("", (3,))] == [(each.datatype, each.shape) for each in call.inputs]


def test_a_source_that_refers_to_itself_ends():
    """Names in circles and functions that call each other are undecided."""
    calls = calls_of(
        "def one(name):\n    return two(name)\n"
        "def two(name):\n    return one(name)\n"
        "a = b\nb = a\n"
        "pb_utils.InferenceRequest(model_name=one('x'))\n"
        "pb_utils.InferenceRequest(model_name=a)\n"
    )

    assert ["one('x')", "a"] == [call.undecided for call in calls]
