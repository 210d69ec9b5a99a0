"""Ensembles in service: their steps, their answers, and the models they stand on."""

from __future__ import annotations

import tempfile
import threading

import numpy as np
import pytest
import stage
from cells import DOUBLE, FINAL, TRIPLE, cell, touch
from google.protobuf.json_format import MessageToJson

from blsnb import InferenceError, ModelLoadError, Run, Server, WouldHang
from blsnb.model.config import parse_pbtxt
from blsnb.parts.server_parts import parts_of

X = {"EX": np.array([1, 2], np.float32)}
CHILD = """
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""


def step(model: str, source: str, target: str) -> str:
    """Return a step that makes one tensor from another."""
    return f"""
step {{
  model_name: "{model}" model_version: -1
  input_map {{ key: "X" value: "{source}" }}
  output_map {{ key: "Y" value: "{target}" }}
}}
"""


def ensemble(
    *steps: str, outputs: str = "EY", inputs: str = "EX", top: str = ""
) -> str:
    """Return an ensemble of steps; names are separated by blanks."""
    tensors = [
        f'input {{ name: "{n}" data_type: TYPE_FP32 dims: [ -1 ] }}'
        for n in inputs.split()
    ]
    tensors += [
        f'output {{ name: "{n}" data_type: TYPE_FP32 dims: [ -1 ] }}'
        for n in outputs.split()
    ]
    return "\n".join(
        ['platform: "ensemble"', top, *tensors, "ensemble_scheduling {", *steps, "}"]
    )


CHAIN = ensemble(step("double", "EX", "MIDDLE"), step("triple", "MIDDLE", "EY"))


@pytest.fixture
def models(server):
    """A server with two models for the ensembles."""
    server.define("double", DOUBLE, config=CHILD)
    server.define("triple", TRIPLE, config=CHILD)
    return server


def define(server: Server, name: str, config: str) -> None:
    """Define an ensemble."""
    server.define(name, None, config=config)


def test_steps_run_one_after_the_other(models):
    """Each step is a call below the ensemble's call."""
    define(models, "chain", CHAIN)
    run = models.infer("chain", X)

    assert [6, 12] == run["EY"].tolist()
    assert [("chain", -1), ("double", 0), ("triple", 0)] == [
        (name, span.parent)
        for name, span in zip(names(run), run.trace.spans, strict=True)
    ]
    for name in ("chain", "double", "triple"):
        (row,) = models.statistics(name)["model_stats"]
        assert (1, 1) == (row["inference_count"], row["execution_count"]), name


@pytest.mark.parametrize(("largest", "shape"), [(0, [2]), (1, [1, 2]), (2, [2, 1])])
def test_an_ensemble_counts_the_rows_of_a_batch(server, largest, shape):
    """Without a batch axis each request is one inference."""
    top = f"max_batch_size: {largest}"
    server.define("double", DOUBLE, config=f"{CHILD} {top}")
    define(server, "one", ensemble(step("double", "EX", "EY"), top=top))

    run = server.infer("one", {"EX": np.ones(shape, np.float32)})

    assert (np.ones(shape) * 2).tolist() == run["EY"].tolist()
    rows = [server.statistics(name)["model_stats"][0] for name in ("one", "double")]
    assert [max(largest, 1)] * 2 == [row["inference_count"] for row in rows]


def test_independent_steps_run_concurrently(server):
    """Each waits until the other has begun."""
    meets = cell('stage.barriers["both"].wait(60)\nreturn [reply(x_of(request) + 1)]')
    stage.barriers["both"] = threading.Barrier(2)
    server.define("left", meets, config=CHILD)
    server.define("right", meets, config=CHILD)
    both = ensemble(step("left", "EX", "L"), step("right", "EX", "R"), outputs="L R")
    define(server, "both", both)
    run = server.infer("both", X)

    assert [[2, 3], [2, 3]] == [run["L"].tolist(), run["R"].tolist()]


def test_steps_without_requested_outputs_are_skipped(models):
    """Only the models of needed steps run."""
    both = ensemble(step("double", "EX", "L"), step("triple", "EX", "R"), outputs="L R")
    define(models, "both", both)
    run = models.infer("both", X, outputs=["R"])

    assert {"R": [3, 6]} == {name: run[name].tolist() for name in run.outputs}
    assert ["both", "triple"] == names(run)


def test_a_failing_step_is_the_failure_of_the_ensemble(models):
    """The text has a prefix for each ensemble; the code is that of the step."""
    refuses = cell(
        """
        error = pb_utils.TritonError("not there", pb_utils.TritonError.NOT_FOUND)
        return [pb_utils.InferenceResponse(error=error)]
        """
    )
    models.define("refuses", refuses, config=CHILD)
    define(models, "inner", ensemble(step("refuses", "EX", "EY")))
    outer = step("inner", "EX", "EY").replace('"X"', '"EX"').replace('"Y"', '"EY"')
    define(models, "outer", ensemble(outer))

    with pytest.raises(InferenceError) as raised:
        models.infer("outer", X)

    assert "in ensemble 'outer', in ensemble 'inner', not there" == raised.value.message
    assert "NOT_FOUND" == raised.value.code
    (row,) = models.statistics("inner")["model_stats"]
    assert 2 == row["inference_stats"]["fail"]["count"]


def test_a_refused_step_fails_the_ensemble(server):
    """The text is that of any refused request."""
    server.define("one", DOUBLE, config=CHILD.replace("[ -1 ]", "[ 1 ]", 1))
    define(
        server, "chain", ensemble(step("one", "EX", "EY")).replace("[ -1 ]", "[ -1 ]")
    )

    with pytest.raises(InferenceError) as raised:
        server.infer("chain", X)

    assert (
        "in ensemble 'chain', [request id: <id_unknown>] unexpected shape for input "
        "'X' for model 'one'. Expected [1], got [2]. "
    ) == raised.value.message


def test_a_decoupled_step_makes_the_ensemble_decoupled(models):
    """Each of its responses passes through the next steps, in order."""
    counts = cell(
        f"""
        sender = request.get_response_sender()
        for number in (1, 2, 3):
            sender.send(reply(x_of(request) * number))
        sender.send(flags={FINAL})
        """
    )
    models.define(
        "counts",
        counts,
        config=CHILD + "model_transaction_policy { decoupled: true }",
    )
    define(
        models, "stream", ensemble(step("counts", "EX", "M"), step("triple", "M", "EY"))
    )

    assert {"decoupled": True} == models.config("stream")["model_transaction_policy"]
    answers = [
        response["EY"].tolist()
        for response in models.stream("stream", X)
        if response.outputs
    ]
    assert [[3, 6], [6, 12], [9, 18]] == answers


def test_bls_can_call_an_ensemble(models):
    """Its failure is an error response."""
    define(models, "chain", CHAIN)
    asks = cell(
        """
        inner = pb_utils.InferenceRequest(
            model_name="chain",
            inputs=[pb_utils.Tensor("EX", x_of(request))],
            requested_output_names=["EY"],
        )
        answer = inner.exec()
        return [reply(pb_utils.get_output_tensor_by_name(answer, "EY").as_numpy())]
        """
    )
    models.define("asks", asks, config=CHILD)
    run = models.infer("asks", {"X": X["EX"]})

    assert [6, 12] == run["Y"].tolist()
    assert [-1, 0, 1, 1] == [span.parent for span in run.trace.spans]


def test_a_circle_through_an_ensemble_is_found(models):
    """A model calls an ensemble whose only step is the model."""
    asks = cell(
        """
        inner = pb_utils.InferenceRequest(
            model_name="circle",
            inputs=[pb_utils.Tensor("EX", x_of(request))],
            requested_output_names=["EY"],
        )
        return [reply(x_of(inner.exec()))]
        """
    )
    models.define("asks", asks, config=CHILD)
    define(models, "circle", ensemble(step("asks", "EX", "EY")))

    with pytest.raises(WouldHang, match="circle is an ensemble and waits for its step"):
        models.infer("circle", X)


def test_loading_an_ensemble_loads_its_missing_models(tmp_path):
    """Unloading with dependents unloads models that were not loaded by name."""
    write(tmp_path)
    with Server(model_repository=tmp_path) as server:
        server.load("triple")
        server.load("chain")
        assert ["chain", "double", "triple"] == ready(server)
        server.load("double")
        server.unload("chain", unload_dependents=True)
        assert ["triple"] == ready(server)


def test_loading_an_unchanged_ensemble_loads_its_changed_models(tmp_path):
    """Those that it had are replaced."""
    write(tmp_path)
    with Server(model_repository=tmp_path) as server:
        server.load("chain")
        (tmp_path / "double" / "1" / "model.py").write_text(TRIPLE)
        touch(server, "double")
        server.load("chain")

        assert [9, 18] == server.infer("chain", X)["EY"].tolist()


def test_an_unloaded_ensemble_has_ended(models):
    """It has no instances that could still run."""
    define(models, "chain", CHAIN)
    chain = parts_of(models).engine.catalog.find("chain", -1)
    models.unload("chain")

    (row,) = [row for row in models.index() if row["name"] == "chain"]
    assert ("UNAVAILABLE", "unloaded") == (row["state"], row["reason"])
    assert not chain.is_running


def test_an_ensemble_is_unloaded_and_loaded_with_its_models(tmp_path):
    """An ensemble that was unloaded by name is not loaded again."""
    write(tmp_path)
    with Server(model_repository=tmp_path) as server:
        server.load("chain")
        server.unload("double")
        assert ["triple"] == ready(server)
        with pytest.raises(InferenceError, match="'chain' has no available versions"):
            server.infer("chain", X)
        server.load("double")
        assert ["chain", "double", "triple"] == ready(server)
        server.unload("chain")
        server.unload("double")
        server.load("double")
        assert ["double", "triple"] == ready(server)


def test_a_model_that_was_unloaded_is_no_longer_loaded_by_name(tmp_path):
    """It then comes and goes with its ensemble."""
    write(tmp_path)
    with Server(model_repository=tmp_path) as server:
        server.load("double")
        server.load("triple")
        server.unload("double")
        server.load("chain")
        server.unload("chain", unload_dependents=True)

        assert ["triple"] == ready(server)


def test_an_unload_says_which_ensembles_went_down_until_they_are_back(models):
    """So does that of an ensemble, unless it is unloaded by name."""
    define(models, "chain", CHAIN)
    notes = parts_of(models).control.ensembles.notes_on

    models.unload("double")
    assert ["the ensemble 'chain' went down with it"] == list(notes("double"))
    assert ["it went down when its model 'double' was unloaded"] == list(notes("chain"))
    assert [] == list(notes("triple"))
    models.load("double")
    assert [] == [*notes("double"), *notes("chain")]
    models.unload("double")
    models.unload("chain")
    assert [] == [*notes("double"), *notes("chain")]


def test_related_models_are_connected_by_ensembles(models):
    """They are so by what serves, by what is wanted, and by what will be loaded."""
    define(models, "chain", CHAIN)
    outer = step("chain", "EX", "EY").replace('"X"', '"EX"').replace('"Y"', '"EY"')
    define(models, "outer", ensemble(outer))
    models.define("alone", DOUBLE, config=CHILD)
    related = parts_of(models).control.ensembles.related

    connected = {"chain", "double", "outer", "triple"}
    assert connected == related("triple", ())
    assert {"alone"} == related("alone", ())
    assert {*connected, "alone", "new"} == related("new", ["alone", "outer"])


def test_an_ensemble_without_one_of_its_models_has_advice_on_its_name(server):
    """Similar names come first."""
    server.define("double", DOUBLE, config=CHILD)
    with pytest.raises(ModelLoadError) as caught:
        define(server, "one", ensemble(step("doubl", "EX", "EY")))

    assert caught.value.advice.startswith(
        "Did you mean 'double'? Models that are loaded: double."
    )


def test_an_ensemble_is_unloaded_if_a_model_no_longer_fits(models):
    """The model's own load succeeds, and the ensemble returns when it fits."""
    define(models, "chain", CHAIN)
    models.define("double", DOUBLE, config=CHILD.replace("FP32", "INT32"))
    assert ["double", "triple"] == ready(models)
    models.define("double", DOUBLE, config=CHILD)

    assert [6, 12] == models.infer("chain", X)["EY"].tolist()


def test_a_failed_reload_of_a_model_keeps_its_ensemble(models):
    """Old version and ensemble still serve."""
    define(models, "chain", CHAIN)
    with pytest.raises(ModelLoadError):
        models.define("double", "1 / 0", config=CHILD)

    assert [6, 12] == models.infer("chain", X)["EY"].tolist()


def test_errors_of_nested_ensembles_are_reported(models):
    """The text is Triton's, through two ensembles."""
    define(models, "chain", CHAIN)
    outer = step("chain", "EX", "EY").replace('"X"', '"EX"').replace('"Y"', '"EY"')
    define(models, "outer", ensemble(outer))
    models.unload("double")
    parts_of(models).repository.directory("double").path.joinpath(
        "1", "model.py"
    ).write_text("1/0")

    with pytest.raises(ModelLoadError) as raised:
        models.load("outer")

    assert raised.value.message.startswith(
        "load failed for model 'outer': ensemble 'outer' depends on 'chain' which is "
        "not valid. Model 'chain' failed with error: ensemble 'chain' depends on "
        "'double' which has no loaded version. Model 'double' loading failed with "
        "error: version 1 is at UNAVAILABLE state: Internal: ZeroDivisionError:"
    )


def test_ensembles_are_cached():
    """No step is executed again."""
    with Server(cache_bytes=1 << 20) as server:
        server.define("double", DOUBLE, config=CHILD)
        define(
            server,
            "one",
            ensemble(step("double", "EX", "EY"), top="response_cache { enable: true }"),
        )
        runs = [server.infer("one", X) for _ in range(2)]

    assert [2, 1] == [len(run.trace.spans) for run in runs]
    assert [[2, 4]] * 2 == [run["EY"].tolist() for run in runs]


def write(folder) -> None:
    """Write a repository with an ensemble of two models."""
    for name, source in (("double", DOUBLE), ("triple", TRIPLE)):
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "1" / "model.py").write_text(source)
        (folder / name / "config.pbtxt").write_text(CHILD)
    (folder / "chain" / "1").mkdir(parents=True)
    (folder / "chain" / "config.pbtxt").write_text(CHAIN)


def names(run: Run) -> list[str]:
    """Return the model of each call of a run."""
    return [run.trace.models[span.model].name for span in run.trace.spans]


def ready(server: Server) -> list[str]:
    """Return the names of the ready models."""
    return [row["name"] for row in server.index() if row.get("state") == "READY"]


def test_the_temporary_folder_of_an_ensemble_stays_until_it_is_unloaded(
    server, tmp_path, monkeypatch
):
    """It stays while a model is missing; a failed load leaves no folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server.define("double", DOUBLE, config=CHILD)
    config = parse_pbtxt(ensemble(step("double", "EX", "EY")))
    server.load("given", config=config, files={"file:1/none": b""})
    server.unload("double")
    assert 1 == len(list(tmp_path.glob("folder*")))

    server.load("double")
    assert "READY" == server.model("given").state
    with pytest.raises(ModelLoadError):
        server.load("bad", config="{", files={"file:1/none": b""})
    server.unload("double")
    server.unload("given")

    assert [] == list(tmp_path.glob("folder*"))


def test_a_load_keeps_other_loads_from_the_models_of_its_ensemble(models):
    """They are those of its configuration, or of the one that replaces it."""
    models.define("chain", None, config=CHAIN)
    sources = parts_of(models).control.sources

    assert ["double", "triple"] == sorted(sources.steps("chain"))
    other = MessageToJson(parse_pbtxt(ensemble(step("triple", "EX", "EY"))).message)
    assert ["triple"] == sources.steps("chain", other)
    for name, config in (("double", None), ("nobody", None), ("chain", "{")):
        assert [] == sources.steps(name, config)
