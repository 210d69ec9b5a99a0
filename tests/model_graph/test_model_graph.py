"""Specification of the graph of a repository's models."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from blsnb import Server
from blsnb.model_graph.finding import Finding
from blsnb.model_graph.picture import draw, page

REPOSITORIES = Path(__file__).parent / "repositories"
CHILD = """
input { name: "X" data_type: TYPE_FP32 dims: 4 }
output { name: "Y" data_type: TYPE_FP32 dims: 4 }
"""
MODEL = """
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X")
            {}
"""
PARENT = 'input { name: "X" data_type: TYPE_FP32 dims: 4 }'


def graph_of(folder, **models):
    """Return the graph of models, each its configuration and the body of a loop."""
    for name, (config, body) in models.items():
        version = folder / name / "1"
        version.mkdir(parents=True)
        (folder / name / "config.pbtxt").write_text(f'backend: "python"\n{config}')
        (version / "model.py").write_text(MODEL.format(body))
    with Server(model_repository=folder, model_control_mode="explicit") as server:
        return server.graph()


def asking(name, tensor="x", output="Y"):
    return (
        f"pb_utils.InferenceRequest(model_name={name!r}, inputs=[{tensor}], "
        f"requested_output_names=[{output!r}]).exec()"
    )


def texts_of_box(texts, name):
    """Return the name in a box and the text below it."""
    return texts[texts.index(name) :][:2]


def shape_of(repository):
    root = REPOSITORIES / repository
    with Server(model_repository=root, model_control_mode="explicit") as server:
        graph = server.graph()
    return {
        model.name: graph.calls_from(model.name)
        for model in graph.models
        if graph.calls_from(model.name)
    }, graph


def test_models_that_call_by_name_and_by_input():
    """In the shape of NVIDIA's BLS examples; a name in an input is undecided."""
    shape, graph = shape_of("bls")

    assert {
        "bls_async": ["add", "sub"],
        "bls_decoupled": ["square"],
        "bls_sync": ["name.as_numpy()[0].decode('utf-8')"],
    } == shape
    kinds = {model.name: model.kind for model in graph.models}
    assert "missing" == kinds["square"]
    assert "undecided" == kinds["name.as_numpy()[0].decode('utf-8')"]


def test_an_ensemble_beside_a_decoder_class():
    """In the shape of TensorRT-LLM: names from parameters, defaults and a helper."""
    shape, graph = shape_of("tensorrt_llm")

    assert {
        "ensemble": ["postprocessing", "preprocessing", "tensorrt_llm"],
        "tensorrt_llm_bls": [
            "postprocessing",
            "preprocessing",
            "tensorrt_llm",
            "tensorrt_llm_draft",
        ],
    } == shape
    [finding] = graph.findings
    assert (
        "tensorrt_llm_bls (model.py:23): calls model 'tensorrt_llm_draft', which the "
        "repository does not have. Did you mean 'tensorrt_llm'?"
    ) == str(finding)
    models, *calls, last = str(graph).splitlines()
    assert (f"{len(graph.models)} models", f"! {finding}") == (models, last)
    draft = "tensorrt_llm_bls -> tensorrt_llm_draft [missing] (model.py:23)"
    assert len(graph.calls) == len(calls)
    assert draft in calls
    assert f"<ModelGraph: 5 models, {len(calls)} calls, 1 finding>" == repr(graph)


FAULTS = {
    "target": (asking("chld"), "calls model 'chld', which the repository does not"),
    "output": (asking("child", output="Z"), "requests output 'Z' of model 'child'"),
    "input": (
        asking("child", "pb_utils.Tensor('IN', x.as_numpy())"),
        "sends input 'IN' to model 'child', which declares X",
    ),
    "type": (
        asking("child", "pb_utils.Tensor('X', x.as_numpy().astype(np.int32))"),
        "sends input 'X' as INT32 to model 'child', which expects FP32",
    ),
    "shape": (
        asking("child", "pb_utils.Tensor('X', np.zeros(3, dtype=np.float32))"),
        "sends input 'X' with shape [3] to model 'child', which expects [4]",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_with_its_line(tmp_path, fault):
    """Without running anything."""
    body, expected = FAULTS[fault]

    graph = graph_of(tmp_path, parent=(PARENT, body), child=(CHILD, "pass"))

    found = [str(each) for each in graph.findings if each.is_fault]
    assert found[0].startswith(f"parent (model.py:8): {expected}")


def test_one_model_is_counted_as_one(tmp_path):
    """In the text and in the representation."""
    graph = graph_of(tmp_path, alone=(CHILD, "pass"))

    assert ("1 model", "<ModelGraph: 1 model, 0 calls, 0 findings>") == (
        str(graph),
        repr(graph),
    )


def test_what_fits_has_no_finding(tmp_path):
    """A correct pipeline, and one whose target only a request tells."""
    graph = graph_of(
        tmp_path,
        parent=(PARENT, asking("child")),
        open=(PARENT, asking("child").replace("'child'", "name")),
        child=(CHILD, "pass"),
    )

    assert () == graph.findings


@pytest.mark.parametrize(("count", "faulty"), [(1, ["one"]), (2, [])])
def test_a_circle_needs_more_instances(tmp_path, count, faulty):
    """With one instance a model that calls itself hangs."""
    group = f"{CHILD} instance_group {{ count: {count} kind: KIND_CPU }}"

    graph = graph_of(tmp_path, one=(group, asking("two")), two=(group, asking("one")))

    text = (
        "calls itself (one -> two -> one) and has 1 instance: the inner request waits "
        "for the instance that the outer one holds, and hangs. Set the count of its "
        "instance_group above the depth of the calls"
    )
    assert [Finding(name, text) for name in faulty] == [*graph.findings]


def test_a_model_that_nobody_calls_is_no_fault(tmp_path):
    """It is named beside models that call each other."""
    graph = graph_of(
        tmp_path,
        parent=(PARENT, asking("child")),
        child=(CHILD, "pass"),
        alone=(CHILD, "pass"),
    )

    expected = Finding("alone", "no other model calls it", is_fault=False)
    assert [expected] == [*graph.findings]


def test_a_file_that_does_not_parse_is_a_finding(tmp_path):
    """The other models of the repository are read."""
    graph = graph_of(tmp_path, broken=(CHILD, "if"), parent=(PARENT, asking("broken")))

    assert ["broken"] == graph.calls_from("parent")
    text = "invalid Python: invalid syntax (model.py, line 8)"
    assert [Finding("broken", text, "model.py")] == [*graph.findings]


def test_an_ensemble_whose_steps_do_not_fit_is_a_finding(tmp_path):
    """In Triton's words."""
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "1").mkdir()
    (folder / "config.pbtxt").write_text(
        'platform: "ensemble"\n'
        'input { name: "IN" data_type: TYPE_INT32 dims: 4 }\n'
        'output { name: "OUT" data_type: TYPE_FP32 dims: 4 }\n'
        'ensemble_scheduling { step { model_name: "child" model_version: -1\n'
        'input_map { key: "X" value: "IN" } output_map { key: "Y" value: "OUT" } } }'
    )

    graph = graph_of(tmp_path, child=(CHILD, "pass"))

    [found] = graph.findings
    assert "ensemble tensor IN: inconsistent data type" in found.text


def test_a_box_without_calls_shows_the_kind_of_its_model(tmp_path):
    """A target that is missing or undecided has no backend."""
    body = f"{asking('gone')}; {asking('open').replace(repr('open'), 'name')}"

    drawn = page(graph_of(tmp_path, parent=(PARENT, body)))

    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert ["name", "undecided"] == texts_of_box(texts, "name")
    assert ["gone", "no such model"] == texts_of_box(texts, "gone")
    assert ["parent", "python"] == texts_of_box(texts, "parent")


def test_a_page_says_how_many_models_it_draws_and_links_to_their_files(
    tmp_path, monkeypatch
):
    """Each link covers the box of its model, whose file it opens."""
    monkeypatch.chdir(tmp_path)
    pair = {"parent": (PARENT, asking("child")), "child": (CHILD, "pass")}
    graph = graph_of(tmp_path, **pair)
    drawing = draw(graph)
    root = ET.fromstring(drawing.svg)
    links = re.findall(
        r'<a href="([^"]*)"[^>]*left:([\d.]+)%;top:([\d.]+)%', page(graph)
    )

    assert "Graph of 2 models" == root.get("aria-label")
    assert f"0 0 {drawing.width:.0f} {drawing.height:g}" == root.get("viewBox")
    files = [quote(graph.models[number].file) for number, _, _ in drawing.places]
    corners = [
        (100 * x / drawing.width, 100 * y / drawing.height)
        for _, x, y in drawing.places
    ]
    assert files == [file for file, _, _ in links]
    assert np.allclose(corners, [(float(x), float(y)) for _, x, y in links], atol=0.01)


def test_a_legend_needs_room_only_below_edges(tmp_path):
    """A graph without calls, or without a legend, has none."""
    pair = {"parent": (PARENT, asking("child")), "child": (CHILD, "pass")}
    graph, alone = (
        graph_of(tmp_path / "a", **pair),
        graph_of(tmp_path / "b", m=pair["child"]),
    )

    assert 24 == draw(graph).height - draw(graph, has_legend=False).height
    assert 0 == draw(alone).height - draw(alone, has_legend=False).height


def test_foreign_names_are_text_in_the_page(tmp_path):
    """A target with markup or control characters stays text."""
    graph = graph_of(tmp_path, parent=(PARENT, asking("<b>\x1b[31m")))

    assert "<b>\x1b" not in page(graph)
    assert "&lt;b&gt;" in page(graph)


def test_500_models_are_drawn_in_time(tmp_path):
    """Models beyond the drawing are listed."""
    models = {
        f"m{n:03}": (CHILD, asking(f"m{n + 1:03}") if n < 499 else "pass")
        for n in range(500)
    }

    shown = page(graph_of(tmp_path, **models))

    assert "300 more models, not drawn" in shown
