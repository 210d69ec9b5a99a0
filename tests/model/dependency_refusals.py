"""Ensembles that Triton 2.51 refuses for their models, with the text of a load.

``m`` is the ensemble to load; its models are read with it.
"""

from __future__ import annotations

from .ensembles import (
    DECOUPLED,
    IO,
    JOIN,
    Refused,
    ensemble,
    ins,
    model,
    optional,
    outs,
    step,
)

BOOMED = (
    "version 1 is at UNAVAILABLE state: Internal: ValueError: boom\n\n"
    "At:\n  <repo>/{name}/1/model.py(3): initialize\n;"
)
MISSING = "ensemble m contains models that are not available or ambiguous: "
CIRCLE = "circular dependency between ensembles: "
_JOINED = (
    "in ensemble m, step of model 'm' receives inputs originated from different "
    "decoupled models"
)

KNOWN_BEFORE = (
    Refused("a model is missing", {"m": ensemble(step("z"))}, f"{MISSING}z"),
    Refused(
        "of missing models the first",
        {
            "m": ensemble(
                step(made="Y=A"), step("z", "X=A", "Y=B"), step("a", given="X=B")
            ),
            "c": model(),
        },
        f"{MISSING}z",
    ),
    Refused(
        "the missing one before the failing one",
        {"m": ensemble(step("bad", made="Y=A"), step("z", "X=A")), "bad": model()},
        f"{MISSING}z",
        ("bad",),
    ),
    Refused(
        "a model that is not even read is missing",
        {"m": ensemble(step("bad")), "bad": model(IO, "max_batch_size: -1")},
        f"{MISSING}bad",
    ),
    Refused(
        "an ensemble that is not even read is missing",
        {"m": ensemble(step("n")), "n": ensemble()},
        f"{MISSING}n",
    ),
    Refused("itself", {"m": ensemble(step("m"))}, f"{CIRCLE}m -> ... -> m -> m"),
    Refused(
        "a circle of two",
        {"m": ensemble(step("n")), "n": ensemble(step("m"))},
        f"{CIRCLE}m -> ... -> n -> m",
    ),
    Refused(
        "a circle of three: seen from another of them",
        {
            "m": ensemble(step("n")),
            "n": ensemble(step("o")),
            "o": ensemble(step("m")),
        },
        f"{CIRCLE}o -> ... -> n -> o",
    ),
    Refused(
        "a circle of three, whose names sort otherwise",
        {
            "m": ensemble(step("a")),
            "a": ensemble(step("b")),
            "b": ensemble(step("m")),
        },
        f"{CIRCLE}m -> ... -> b -> m",
    ),
    Refused(
        "a missing one before a circle",
        {
            "m": ensemble(step("n", made="Y=A"), step("z", "X=A")),
            "n": ensemble(step("m")),
        },
        f"{MISSING}z",
    ),
)
"""Errors before any model is loaded."""


def _both(row: str, config: str, composing: str, reason: str) -> Refused:
    return Refused(row, {"m": config, "c": composing}, reason)


_DEPENDS = "ensemble 'm' depends on "

LOADED = (
    Refused(
        "a model fails",
        {"m": ensemble(step("bad")), "bad": model()},
        f"{_DEPENDS}'bad' which has no loaded version. Model 'bad' loading failed with "
        f"error: {BOOMED.format(name='bad')}",
        ("bad",),
    ),
    Refused(
        "an ensemble fails",
        {
            "m": ensemble(step("n")),
            "n": ensemble(
                step(), io="input { name: 'X' data_type: TYPE_FP32 dims: 0 }" + outs()
            ),
            "c": model(),
        },
        f"{_DEPENDS}'n' which has no loaded version. Model 'n' loading failed with "
        "error: version 1 is at UNAVAILABLE state: Invalid argument: model input 'X' "
        "dimension must be integer >= 1, or -1 to indicate a variable-size dimension "
        "for n;",
    ),
    Refused(
        "an ensemble is refused",
        {
            "m": ensemble(step("n")),
            "n": ensemble(step(given="Q=X")),
            "c": model(),
        },
        f"{_DEPENDS}'n' which is not valid. Model 'n' failed with error: in ensemble "
        "n, ensemble tensor X is mapping to non-existing input Q in model c",
    ),
    Refused(
        "an ensemble misses a model",
        {"m": ensemble(step("n")), "n": ensemble(step("z"))},
        f"{_DEPENDS}'n' which is not valid. Model 'n' failed with error: ensemble n "
        "contains models that are not available or ambiguous: z",
    ),
    Refused(
        "a model of an ensemble fails",
        {
            "m": ensemble(step("n")),
            "n": ensemble(step("bad")),
            "bad": model(),
        },
        f"{_DEPENDS}'n' which is not valid. Model 'n' failed with error: ensemble 'n' "
        "depends on 'bad' which has no loaded version. Model 'bad' loading failed with "
        f"error: {BOOMED.format(name='bad')}",
        ("bad",),
    ),
    _both(
        "no version said is version 0",
        ensemble(step(version="")),
        model(),
        f"{_DEPENDS}'c' whose required version 0 is not loaded.",
    ),
    _both(
        "version -2",
        ensemble(step(version="model_version: -2")),
        model(),
        f"{_DEPENDS}'c' whose required version -2 is not loaded.",
    ),
    _both(
        "of versions the last",
        ensemble(
            step(made="Y=A", version="model_version: 7"),
            step(given="X=A", made="Y=B", version="model_version: 3"),
            step(given="X=B"),
        ),
        model(),
        f"{_DEPENDS}'c' whose required version 7 is not loaded.",
    ),
    _both(
        "the batch before the names",
        ensemble(step(given="Q=X"), more="max_batch_size: 8"),
        model(IO, "max_batch_size: 4"),
        "ensemble m allows maximum batch size 8, but it contains model c which only "
        "allows maximum batch size to be 4",
    ),
    Refused(
        "the names of a step before the batch of the next",
        {
            "m": ensemble(
                step(given="Q=X", made="Y=A"),
                step("d", given="X=A"),
                more="max_batch_size: 8",
            ),
            "c": model(IO, "max_batch_size: 8"),
            "d": model(IO, "max_batch_size: 4"),
        },
        "in ensemble m, ensemble tensor X is mapping to non-existing input Q in model "
        "c",
    ),
    _both(
        "an unknown input before one that is not mapped and an unknown output",
        ensemble(step(given="Q=X", made="Q=Y")),
        model(),
        "in ensemble m, ensemble tensor X is mapping to non-existing input Q in model "
        "c",
    ),
    _both(
        "an input is not mapped, before an unknown output",
        ensemble(step(made="Q=Y")),
        model(optional("O"), ins("W"), IO, ins("Z")),
        "in ensemble m, input W in model c is not mapped to any ensemble tensors",
    ),
    _both(
        "an input of another type before one that is not mapped",
        ensemble(step()),
        model(ins(data_type="INT32"), ins("Z"), outs()),
        "in ensemble m, ensemble tensor X: inconsistent data type: TYPE_FP32 is "
        "inferred from model m while TYPE_INT32 is inferred from model c",
    ),
    _both(
        "one that is not mapped before one of another type",
        ensemble(step()),
        model(ins("Z"), ins(data_type="INT32"), outs()),
        "in ensemble m, input Z in model c is not mapped to any ensemble tensors",
    ),
    _both(
        "an unknown output",
        ensemble(step(made="Q=Y")),
        model(),
        "in ensemble m, ensemble tensor Y is mapped from non-existing output Q in "
        "model c",
    ),
    _both(
        "two outputs of one name",
        ensemble(step()),
        model(IO, outs()),
        "in ensemble m, multiple outputs in model c are mapped to the same ensemble "
        "tensor Y",
    ),
    _both(
        "no type is another type",
        ensemble(step(), io=f"input {{ name: 'X' }} {outs()}"),
        model(),
        "in ensemble m, ensemble tensor X: inconsistent data type: TYPE_INVALID is "
        "inferred from model m while TYPE_FP32 is inferred from model c",
    ),
    _both(
        "an output's type",
        ensemble(step()),
        model(ins(), outs(data_type="INT32")),
        "in ensemble m, ensemble tensor Y: inconsistent data type: TYPE_FP32 is "
        "inferred from model m while TYPE_INT32 is inferred from model c",
    ),
    _both(
        "one tensor, two inputs of two types",
        ensemble(step(given="X=X Z=X")),
        model(IO, ins("Z", "INT32")),
        "in ensemble m, ensemble tensor X: inconsistent data type: TYPE_FP32 is "
        "inferred from model m while TYPE_INT32 is inferred from model c",
    ),
    Refused(
        "types between models, whoever comes first",
        {
            "m": ensemble(step("d", given="X=A"), step(made="Y=A")),
            "c": model(ins(), outs(data_type="INT32")),
            "d": model(),
        },
        "in ensemble m, ensemble tensor A: inconsistent data type: TYPE_FP32 is "
        "inferred from model d while TYPE_INT32 is inferred from model c",
    ),
    _both(
        "the type before the shape",
        ensemble(step()),
        model(ins(data_type="INT32", dims="2, 2"), outs()),
        "in ensemble m, ensemble tensor X: inconsistent data type: TYPE_FP32 is "
        "inferred from model m while TYPE_INT32 is inferred from model c",
    ),
    _both(
        "rank",
        ensemble(step()),
        model(ins(dims="2, 2"), outs()),
        "in ensemble m, ensemble tensor X: inconsistent shape: [-1] is inferred from "
        "model m while [2,2] is inferred from model c",
    ),
    _both(
        "length, with batches on both sides",
        ensemble(step(), io=ins(dims="2") + outs(), more="max_batch_size: 4"),
        model(ins(dims="3"), outs(), "max_batch_size: 4"),
        "in ensemble m, ensemble tensor X: inconsistent shape: [-1,2] is inferred from "
        "model m while [-1,3] is inferred from model c",
    ),
    _both(
        "length, with batches on one side",
        ensemble(step(), io=ins(dims="2") + outs(), more="max_batch_size: 4"),
        model(ins(dims="3"), outs()),
        "in ensemble m, ensemble tensor X: inconsistent shape: [-1,2] is inferred from "
        "model m while [3] is inferred from model c",
    ),
    _both(
        "the ensemble's reshape counts",
        ensemble(
            step(),
            io="input { name: 'X' data_type: TYPE_FP32 dims: [1, 4] reshape { shape: 4 "
            f"}} }} {outs()}",
        ),
        model(ins(dims="1, 4"), outs()),
        "in ensemble m, ensemble tensor X: inconsistent shape: [4] is inferred from "
        "model m while [1,4] is inferred from model c",
    ),
    _both(
        "the model's reshape does not",
        ensemble(step(), io=ins(dims="4") + outs()),
        model(
            "input { name: 'X' data_type: TYPE_FP32 dims: [1, 4] "
            "reshape { shape: 4 } }",
            outs(),
        ),
        "in ensemble m, ensemble tensor X: inconsistent shape: [4] is inferred from "
        "model m while [1,4] is inferred from model c",
    ),
    Refused(
        "two decoupled branches",
        {
            "m": ensemble(step(made="Y=A"), step(made="Y=B"), step("j", "P=A Q=B")),
            "c": model(IO, DECOUPLED),
            "j": JOIN,
        },
        _JOINED,
    ),
    Refused(
        "a decoupled branch and an input",
        {
            "m": ensemble(step(made="Y=A"), step("j", "P=A Q=X")),
            "c": model(IO, DECOUPLED),
            "j": JOIN,
        },
        _JOINED,
    ),
    Refused(
        "outputs of a decoupled and of another branch",
        {
            "m": ensemble(step(), step("d", made="Y=Z"), io=IO + outs("Z")),
            "c": model(IO, DECOUPLED),
            "d": model(),
        },
        _JOINED,
    ),
)
"""Errors once the composing models are loaded."""

CREATE = (
    _both(
        "dims",
        ensemble(
            step(), io="input { name: 'X' data_type: TYPE_FP32 dims: 0 }" + outs()
        ),
        model(),
        "model input 'X' dimension must be integer >= 1, or -1 to indicate a "
        "variable-size dimension for m",
    ),
    _both(
        "a cache, and decoupled by a model",
        ensemble(step(), more="response_cache { enable: true }"),
        model(IO, DECOUPLED),
        "Response Cache does not currently support model m with 'decoupled' "
        "transaction policy. Please disable the response cache.",
    ),
)
"""Errors when the ensemble itself is created."""
