"""Ensembles that Triton 2.51 refuses at the poll stage, with the text of its log."""

from __future__ import annotations

from .ensembles import DECOUPLED, IO, Refused, ensemble, ins, outs, step


def _poll(row: str, config: str, reason: str) -> Refused:
    return Refused(row, {"m": config}, reason)


_UNCONNECTED = (
    "output 'Y' for ensemble 'm' is not written: at least one of its depending "
    "tensors, '{}', is not connected"
)

POLL = (
    _poll(
        "no ensemble_scheduling",
        f"platform: 'ensemble' {IO}",
        "ensemble scheduling must be set for ensemble m whose platform is ensemble",
    ),
    _poll(
        "dynamic batching instead",
        f"platform: 'ensemble' {IO} dynamic_batching {{ }}",
        "ensemble scheduling must be set for ensemble m whose platform is ensemble",
    ),
    _poll(
        "backend",
        ensemble(step(), more="backend: 'python'"),
        "Ensemble model 'm' must have platform type 'ensemble' and empty backend type",
    ),
    _poll(
        "backend by file name",
        ensemble(step(), more="default_model_filename: 'model.py'"),
        "Ensemble model 'm' must have platform type 'ensemble' and empty backend type",
    ),
    _poll(
        "no platform",
        f"backend: 'python' {IO} ensemble_scheduling {{ }}",
        "ensemble scheduling cannot be set for model 'm' whose platform is not "
        "ensemble",
    ),
    _poll(
        "negative batch size before all of the ensemble's",
        ensemble(more="max_batch_size: -1"),
        "'max_batch_size' must be non-negative value for m",
    ),
    _poll(
        "instance group before optimization, warm-up and no step",
        ensemble(more="instance_group { } optimization { } model_warmup { }"),
        "instance group should not be specified for ensemble 'm'",
    ),
    _poll(
        "optimization before warm-up and no step",
        ensemble(more="optimization { } model_warmup { }"),
        "optimization should not be specified for ensemble 'm'",
    ),
    _poll(
        "warm-up before no step",
        ensemble(more="model_warmup { }"),
        "model_warmup can not be specified for ensemble 'm'",
    ),
    _poll("no step", ensemble(), "must specify 'step' for ensemble 'm'"),
    _poll(
        "no step before the cache",
        ensemble(more=f"{DECOUPLED} response_cache {{ enable: true }}"),
        "must specify 'step' for ensemble 'm'",
    ),
    _poll(
        "nothing in a step",
        ensemble(step(), "step { }"),
        "must specify 'model_name' in step 1 of ensemble 'm'",
    ),
    _poll(
        "no input_map",
        ensemble(step(given="", made="")),
        "must specify 'input_map' in step 0 of ensemble 'm'",
    ),
    _poll(
        "no output_map",
        ensemble(step(made="")),
        "must specify 'output_map' in step 0 of ensemble 'm'",
    ),
    _poll(
        "written twice, before a later step is read",
        ensemble(step(), step(), "step { }"),
        "ensemble tensor 'Y' can appear in an output map only once for ensemble 'm' "
        "step 1",
    ),
    _poll(
        "an incomplete step, before a later one writes twice",
        ensemble(step(), "step { model_name: 'c' }", step()),
        "must specify 'input_map' in step 1 of ensemble 'm'",
    ),
    _poll(
        "written twice by one step",
        ensemble(step(made="Y=Y Z=Y")),
        "ensemble tensor 'Y' can appear in an output map only once for ensemble 'm' "
        "step 0",
    ),
    _poll(
        "an input is not used, nor is an output",
        ensemble(step(), io=IO + ins("X2") + outs("Y2")),
        "ensemble input 'X2' for ensemble m' is not used",
    ),
    _poll(
        "an output is not used",
        ensemble(step(), io=IO + outs("Y3") + outs("Y2")),
        "ensemble output 'Y3' for ensemble m' is not used",
    ),
    _poll(
        "not connected",
        ensemble(step(given="X=X X2=A")),
        _UNCONNECTED.format("A"),
    ),
    _poll(
        "not connected, some steps away",
        ensemble(step(given="X=Q", made="Y=A"), step(given="X=A X2=X")),
        _UNCONNECTED.format("Q"),
    ),
    _poll("without inputs", ensemble(step(), io=outs()), _UNCONNECTED.format("X")),
    _poll(
        "a circle",
        ensemble(
            step(given="X=X X2=B", made="Y=A"),
            step(given="X=A", made="Y=B"),
            step(given="X=B"),
        ),
        _UNCONNECTED.format("A"),
    ),
    _poll(
        "an output made of itself",
        ensemble(step(given="X=X X2=Y")),
        "output 'Y' for ensemble 'm' is not written",
    ),
    _poll(
        "nobody takes a tensor",
        ensemble(step(made="Y=Y U=UNUSED")),
        "ensemble tensor 'UNUSED' is unused in ensemble 'm'",
    ),
    _poll(
        "an input is the only output",
        ensemble(step(made="Y=M"), io=ins() + outs("X")),
        "ensemble tensor 'M' is unused in ensemble 'm'",
    ),
    _poll(
        "steps aside",
        ensemble(step(), step(given="X=Q", made="Y=R")),
        "ensemble tensor 'Q' is unused in ensemble 'm'",
    ),
    _poll(
        "of several unused tensors the first of a hash table",
        ensemble(*(step(made=f"Y=T{n}") for n in range(30)), step()),
        "ensemble tensor 'T28' is unused in ensemble 'm'",
    ),
    _poll(
        "neither inputs nor outputs",
        ensemble(step(), io=""),
        "ensemble tensor 'X' is unused in ensemble 'm'",
    ),
    _poll(
        "decoupled with a cache",
        ensemble(step(), more=f"{DECOUPLED} response_cache {{ enable: true }}"),
        "Response Cache does not currently support model m with 'decoupled' "
        "transaction policy. Please disable the response cache.",
    ),
)
