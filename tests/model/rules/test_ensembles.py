"""Ensembles are refused at Triton's stage and with its text."""

from collections.abc import Mapping

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.model.rules.dependencies import (
    Composing,
    composing_models,
    find_faults,
    validate_ensemble,
)
from blsnb.model.rules.validate import validate_create, validate_poll
from blsnb.release import OLDEST

from ..dependency_refusals import BOOMED, CIRCLE, CREATE, KNOWN_BEFORE, LOADED, MISSING
from ..ensemble_refusals import POLL
from ..ensembles import DECOUPLED_OR_NOT, IO, Refused, ensemble, model, step


def normal(name: str, text: str) -> ModelConfig:
    """Return a configuration as the poll stage leaves it."""
    entries = {} if "'ensemble'" in text else {"model.py": False}
    return normalise(parse_pbtxt(text), model_name=name, entries=entries)


def read(models: Mapping[str, str]) -> dict[str, ModelConfig]:
    """Return the configurations that pass the poll stage."""
    found = {}
    for name, text in models.items():
        config = normal(name, text)
        try:
            validate_poll(config)
        except ModelConfigError:
            continue
        found[name] = config
    return found


def load(name: str, configs: Mapping[str, ModelConfig], failing=()) -> Composing:
    """Load a model after its composing models, as an engine does."""
    if name in failing:
        return Composing(failure=BOOMED.format(name=name))
    config = configs[name]
    if invalid := find_faults(configs, configs).get(name):
        return Composing(invalid=invalid)
    try:
        if needed := composing_models(config):
            composing = {each: load(each, configs, failing) for each in needed}
            config = validate_ensemble(config, composing)
        validate_create(config)
    except ModelConfigError as error:
        if error.stage == "dependency":
            return Composing(invalid=error.message)
        reason = f"Invalid argument: {error.message}"
        return Composing(failure=f"version 1 is at UNAVAILABLE state: {reason};")
    return Composing({1: config})


def rows(refusals: tuple[Refused, ...]) -> pytest.MarkDecorator:
    names = [refused.row for refused in refusals]
    return pytest.mark.parametrize("refused", refusals, ids=names)


@rows(POLL)
def test_refused_at_the_poll_stage(refused: Refused) -> None:
    """The reason is the one in the log of a real server."""
    with pytest.raises(ModelConfigError) as caught:
        validate_poll(normal("m", refused.models["m"]))
    error = caught.value

    assert (refused.reason, "poll", "INVALID_ARG") == (
        error.message,
        error.stage,
        error.code,
    )


@rows(KNOWN_BEFORE)
def test_refused_before_anything_is_loaded(refused: Refused) -> None:
    """A missing model or a circle is visible in the configurations."""
    configs = read(refused.models)

    assert refused.reason == find_faults(configs, configs)["m"]


@rows(LOADED)
def test_refused_when_its_models_are_loaded(refused: Refused) -> None:
    """The reason is that of the load request's error."""
    configs = read(refused.models)

    assert refused.reason == load("m", configs, refused.failing).invalid


@rows(CREATE)
def test_refused_when_the_ensemble_is_made(refused: Refused) -> None:
    """It passes the dependency stage, and fails like any model."""
    failure = load("m", read(refused.models)).failure

    assert (
        f"version 1 is at UNAVAILABLE state: Invalid argument: {refused.reason};"
        == failure
    )


def test_the_error_of_the_dependency_stage_has_no_version() -> None:
    """That of the create stage has one."""
    with pytest.raises(ModelConfigError) as caught:
        validate_ensemble(normal("m", ensemble(step())), {"c": Composing()})

    assert ("dependency", "INVALID_ARG") == (caught.value.stage, caught.value.code)


@pytest.mark.parametrize("case", DECOUPLED_OR_NOT)
def test_whether_it_is_decoupled_follows_from_its_models(case: str) -> None:
    """One decoupled model on a path is enough; the configured value is ignored."""
    decoupled, text, models = DECOUPLED_OR_NOT[case]
    loaded = load("m", read({"m": text, **models}))

    assert ("", None) == (loaded.invalid, loaded.failure)
    assert decoupled is loaded.versions[1].decoupled


def test_an_ensemble_of_a_decoupled_ensemble_is_decoupled() -> None:
    """The inner ensemble counts like a model."""
    _, inner, models = DECOUPLED_OR_NOT["a decoupled model"]
    configs = read({"m": ensemble(step("n")), "n": inner, **models})

    assert load("m", configs).versions[1].decoupled


def test_tensors_are_compared_with_the_latest_version() -> None:
    """The version of the step does not matter."""
    old, new = normal("c", model(IO, "max_batch_size: 2")), normal("c", model())
    config = normal(
        "m", ensemble(step(version="model_version: 1"), more="max_batch_size: 4")
    )

    assert validate_ensemble(config, {"c": Composing({1: old, 2: new})})
    with pytest.raises(ModelConfigError) as caught:
        validate_ensemble(config, {"c": Composing({1: new, 2: old})})
    assert (
        "ensemble m allows maximum batch size 4, but it contains model c which only "
        "allows maximum batch size to be 2" == caught.value.message
    )


def test_an_unloaded_model_has_no_version() -> None:
    """Its load succeeded earlier."""
    with pytest.raises(ModelConfigError) as caught:
        validate_ensemble(normal("m", ensemble(step())), {"c": Composing()})

    assert "ensemble 'm' depends on 'c' which has no loaded version." == str(
        caught.value
    )


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ({"n": ensemble(step("o")), "o": ensemble(step("n"))}, "n -> ... -> o -> n"),
        ({"n": ensemble(step("n"))}, "n -> ... -> n -> n"),
    ],
    ids=["two", "one"],
)
def test_an_ensemble_that_depends_on_a_circle_is_refused(
    models: dict[str, str], reason: str
) -> None:
    """Triton follows the circle until it crashes."""
    configs = read({"m": ensemble(step("n")), **models})

    assert (
        "ensemble 'm' depends on 'n' which is not valid. Model 'n' failed with error: "
        f"{CIRCLE}{reason}"
    ) == load("m", configs).invalid


@pytest.mark.parametrize(
    ("mapped", "reason", "advice"),
    [
        (
            {"given": "x=X"},
            "ensemble tensor X is mapping to non-existing input x in model c",
            "Did you mean 'X'? Its inputs are: X.",
        ),
        (
            {"made": "QQ=Y"},
            "ensemble tensor Y is mapped from non-existing output QQ in model c",
            "Its outputs are: Y.",
        ),
    ],
)
def test_a_mapped_tensor_must_be_one_of_the_model(
    mapped: dict[str, str], reason: str, advice: str
) -> None:
    """The advice lists those that it has."""
    config = normal("m", ensemble(step(**mapped)))
    with pytest.raises(ModelConfigError) as caught:
        validate_ensemble(config, {"c": Composing({1: normal("c", model())})})

    assert (f"in ensemble m, {reason}", "dependency", advice) == (
        caught.value.message,
        caught.value.stage,
        caught.value.advice,
    )


def test_only_models_of_the_load_are_checked() -> None:
    """A circle elsewhere in the server is not an error."""
    configs = read(
        {
            "a": ensemble(step("c")),
            "b": ensemble(step("z")),
            "c": model(),
        }
    )

    assert {} == find_faults(configs, ["a"])
    assert {"b": f"{MISSING}z".replace(" m ", " b ")} == find_faults(configs, ["b"])


def test_composing_models_have_the_versions_of_the_steps() -> None:
    """They are in order of the steps; a missing version is 0."""
    config = normal(
        "m",
        ensemble(
            step("b", made="Y=A"),
            step("a", "X=A", "Y=B", "model_version: 3"),
            step("b", "X=B", version=""),
        ),
    )

    assert [("b", {-1, 0}), ("a", {3})] == list(composing_models(config).items())
    assert {} == composing_models(normal("c", model()))


def test_a_field_newer_than_the_release_cannot_be_read() -> None:
    """24.10 has no max_inflight_requests, so the text is invalid."""
    text = ensemble("max_inflight_requests: 2", step())
    validate_poll(normal("m", text))
    with pytest.raises(ModelConfigError) as caught:
        validate_poll(normal("m", text), release=OLDEST)
    error = caught.value

    assert ("failed to read text proto from config.pbtxt", "poll", "INTERNAL") == (
        error.message,
        error.stage,
        error.code,
    )
    assert "Triton has max_inflight_requests of an ensemble since" in error.advice
