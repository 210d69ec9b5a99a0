"""Refused ensembles: the error of the caller, and the reason in the log.

`tests/model` compares the same configurations with blsnb's rules.
"""

import json

import pytest
from model.dependency_refusals import CREATE, KNOWN_BEFORE, LOADED
from model.ensemble_refusals import POLL
from model.ensembles import BOOM, DECOUPLED_OR_NOT, PLAIN

from .covering import rows
from .loading import load
from .scripted import write

NAMED = {
    each.row.replace("-", " "): each
    for each in (*POLL, *KNOWN_BEFORE, *LOADED, *CREATE)
}
ROWS = {
    "no ensemble_scheduling": "ensemble_scheduling-absent-with-platform-ensemble",
    "no platform": "ensemble_scheduling-without-platform-ensemble",
    "instance group before optimization, warm up and no step": "instance_group-given",
    "optimization before warm up and no step": "optimization-given",
    "warm up before no step": "model_warmup-given",
    "no step": "no-step",
    "nothing in a step": "step-without-model_name-input_map-output_map",
    "no input_map": "step-without-model_name-input_map-output_map",
    "no output_map": "step-without-model_name-input_map-output_map",
    "written twice, before a later step is read": "tensor-written-twice",
    "an input is not used, nor is an output": "ensemble-input-not-used",
    "an output is not used": "ensemble-output-never-written-by-any",
    "not connected": "data-flow-cycle-unreachable",
    "a circle": "data-flow-cycle-unreachable",
    "nobody takes a tensor": "produced-tensor-nobody-consumes",
    "a model is missing": "composing-model-missing",
    "a model fails": "composing-model-failed-to-load",
    "an ensemble is refused": "composing-model-invalid",
    "of versions the last": "required-version-not-loaded",
    "no version said is version 0": "required-version-not-loaded",
    "itself": "ensemble-of-ensembles-cycle",
    "a circle of two": "ensemble-of-ensembles-cycle",
    "the batch before the names": "batch-size",
    "the names of a step before the batch of the next": "unknown-model-input",
    "an unknown output": "unknown-model-output",
    "an input is not mapped, before an unknown output": "required-input-not-mapped",
    "an output's type": "dtype-conflict",
    "rank": "shape-conflict",
    "two decoupled branches": "inputs-from-two-decoupled-branches",
}


OFTEN = [each.row.replace("-", " ") for each in (*POLL, *KNOWN_BEFORE)]


def cases():
    """All refusals; some are slow because models run before them."""
    for name in NAMED:
        quick = name in ROWS or name in OFTEN
        yield pytest.param(name, marks=() if quick else pytest.mark.slow)


def loaded(target, models, failing=()):
    """Return the result of loading the ensemble ``m`` with its models."""
    try:
        for name, text in models.items():
            source = BOOM if name in failing else PLAIN
            write(target, name, text, None if "'ensemble'" in text else source)
        source = None if "'ensemble'" in models["m"] else PLAIN
        return load(target, "m", models["m"], source)
    finally:
        for name in models:
            target.unload(name, wait=False)


@rows({name: f"r2.6/{row}" for name, row in ROWS.items()})
@rows(
    {
        "a model is missing": "r1.6/dependency-stage-ensembles-2-6-group",
        "rank": "r1.6/dependency-stage-ensembles-2-6-group",
    }
)
@pytest.mark.parametrize("name", list(cases()), ids=list(NAMED))
def test_refused(agree, beside, name):
    """At the poll stage, before or after the load of its models, or at creation."""
    refused = NAMED[name]
    agree(lambda target: loaded(beside(target), refused.models, refused.failing))


CASES = {name.replace("-", " "): case for name, case in DECOUPLED_OR_NOT.items()}


@rows("r2.3/ensemble-decoupled", "r2.2/ensemble_scheduling")
@pytest.mark.parametrize("name", CASES)
def test_its_configuration_is_filled_in(agree, beside, name):
    """Whether it is decoupled is written at its end."""
    _, text, models = CASES[name]

    def case(target):
        failure, config = loaded(beside(target), {"m": text, **models})
        tree = json.loads(config)
        # Inside maps the real server's order is by chance.
        return [failure, list(tree), tree]

    agree(case)
