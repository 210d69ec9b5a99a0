"""Specification of Tab in strings."""

import cProfile
import inspect

import pytest
from asserting import some

from blsnb import Server
from blsnb.magics import default_server as default
from blsnb.magics.completion.cursor import cursor_at_end

from ..models import DOUBLE
from .test_line_completion import complete, texts

CELL = "%%triton_model mine --input IMAGE:FP32[4] --output SCORE:FP32[1]\n"
REQUEST = "pb_utils.InferenceRequest(model_name='double', "


@pytest.fixture(scope="module")
def completer(shell):
    from blsnb.magics import extension

    extension.load_ipython_extension(shell)
    shell.run_cell(DOUBLE.replace("--input", "--quiet --input"))
    shell.run_cell(
        "import blsnb\nown = server = blsnb.server()\n"
        "run = blsnb.infer('double', {'X': [1.0]}, show=False)"
    )
    yield shell.Completer
    extension.unload_ipython_extension(shell)
    default.close_default()


CASES = {
    "blsnb.infer('": ["double"],
    'blsnb.stream("do': ["double"],
    "server.load('d": ["double"],
    "own.load('d": ["double"],
    "x = 1\nserver.compare('d": ["double"],
    "blsnb.infer('double', {'": ["X"],
    "blsnb.infer('double', {'X': x}, outputs=['": ["Y"],
    "run['": ["Y"],
    "pb_utils.InferenceRequest(model_name='": ["double"],
    f"{REQUEST}requested_output_names=['": ["Y"],
    "pb_utils.get_output_tensor_by_name(response, 'Y": ["Y"],
    "blsnb.infer('double', {'X': x}, version=": ["1"],
    f"{REQUEST}model_version=": ["1"],
    f"{REQUEST}model_version = ": ["1"],
    "pb_utils.is_model_ready('double', model_version='": ["1"],
    "blsnb.bench('double', {}, trace_level='ti": ["timestamps"],
    "blsnb.Server(model_control_mode='": ["explicit", "none", "poll"],
    "blsnb.Server(rate_limit='ex": ["execution_count"],
    "blsnb.Server(triton_release='24": ["24.10", "24.11"],
    "server.use_runtime('n": ["numpy"],
    "run.export_trace('x.json', 'p": ["perfetto"],
    "server.compare('double', target='l": ["local"],
    "blsnb.options.trace_level = 'o": ["off"],
    "with blsnb.options.using(runtime='c": ["cupy"],
    f"{CELL}pb_utils.get_input_tensor_by_name(request, 'I": ["IMAGE"],
    f"{CELL}pb_utils.Tensor('SC": ["SCORE"],
}


@pytest.mark.parametrize("text", CASES)
def test_names_are_offered_in_strings(completer, text):
    """Models, inputs and outputs, where each belongs."""
    assert CASES[text] == texts(completer, text)


@pytest.mark.parametrize(
    "text", ["print('d", "json.load('d", "blsnb.infer('double', {'X': '", "x = 'd"]
)
def test_other_strings_are_left_alone(completer, text):
    """A path or a value is no model."""
    assert "double" not in texts(completer, text)


def test_each_method_that_takes_a_model_offers_its_name(completer):
    """Methods of a server and functions of a model; `define` names a new one."""
    first = {
        method: next(iter([*inspect.signature(function).parameters][1:]), "")
        for method, function in inspect.getmembers(Server, inspect.isfunction)
    }
    named = [each for each in first if first[each] in ("name", "model_name")]
    begun = [f"server.{each}('d" for each in named if each != "define"]
    begun += [
        f"pb_utils.{each}('d"
        for each in ("is_model_ready", "load_model", "unload_model")
    ]

    assert [] == [text for text in some(begun) if texts(completer, text) != ["double"]]


def test_the_text_after_the_quote_is_replaced(completer):
    """Nothing before it."""
    assert [("do", "double")] == complete(completer, "blsnb.infer('do")


@pytest.fixture(scope="module")
def many(completer, tmp_path_factory):
    """500 further models in a folder, and the completer."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(500):
        model = folder / f"many_{number:03}"
        (model / "1").mkdir(parents=True)
        (model / "config.pbtxt").write_text("max_batch_size: 4")
    default.server().import_repository(folder, [])
    return completer


def test_500_models_are_all_offered(many):
    """Those of a folder that are not loaded as well."""
    assert 500 == len(texts(many, "blsnb.infer('many_"))


@pytest.mark.parametrize(
    "text", ["blsnb.infer('many_", "run.get_output_tensor_by_name(r, '", *CASES]
)
def test_tab_with_500_models_reads_no_file(many, text):
    """Each model costs a few calls: the first answer takes milliseconds."""
    profile = cProfile.Profile()
    profile.runcall(texts, many, text)
    called = [(row.code, row.callcount) for row in profile.getstats()]
    files = [code.co_filename for code, _ in called if not isinstance(code, str)]
    opened = [code for code, _ in called if isinstance(code, str) and ".open>" in code]

    assert [] == opened
    assert [] == [path for path in files if "/model/text/" in path]
    assert sum(count for _, count in called) < 500 * 60


def test_a_long_cell_costs_little(many):
    """Letters that open or close nothing are passed over together."""
    lines = [f"value_{number} = compute(value, {number})" for number in range(2_000)]
    text = "\n".join([*lines, "blsnb.infer('dou"])
    profile = cProfile.Profile()
    found = profile.runcall(cursor_at_end, text)
    calls = sum(row.callcount for row in profile.getstats())

    assert "dou" == found.fragment
    assert calls < 50 * len(lines)
