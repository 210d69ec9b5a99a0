"""The models that a server loads at startup."""

from __future__ import annotations

import re

import pytest
from cells import CONFIG, DOUBLE

from blsnb import ModelLoadError, Server
from blsnb.engine.loading.startup import ControlMode, parse_control_mode

NEEDS_EXPLICIT = (
    "Use of '--load-model' requires setting '--model-control-mode=explicit' as well: "
    "startup_models cannot be used with model_control_mode='{}'"
)


@pytest.fixture
def models(tmp_path):
    """Two models that fail, ``b`` in its load and ``c`` before it."""
    for name, source in (("a", DOUBLE), ("b", "1 / 0"), ("c", DOUBLE)):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "model.py").write_text(source)
        (tmp_path / name / "config.pbtxt").write_text(CONFIG)
    (tmp_path / "c" / "config.pbtxt").write_text("{")
    return tmp_path


def failure(models, **settings) -> ModelLoadError:
    """Return the error with which a server does not start."""
    with pytest.raises(ModelLoadError) as caught:
        Server(model_repository=models, **settings)
    return caught.value


def test_explicit_loads_what_is_named(models):
    """One, several, all and no models can be named."""
    with Server(model_repository=models) as server:
        assert ["not loaded"] * 3 == [model.state for model in server.models()]
    for names in ("a", ["a"], ["a", "a"]):
        with Server(model_repository=models, startup_models=names) as server:
            assert "READY" == server.model("a").state


def test_a_failure_has_tritons_text(models):
    """The text is that of the load, if it began."""
    error = failure(models, startup_models=["a", "b"])

    assert error.message.startswith(
        "load failed for model 'b': version 1 is at UNAVAILABLE state: Internal: "
        "ZeroDivisionError"
    )
    assert "INVALID_ARG" == error.code


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"startup_models": "nowhere"}, ["nowhere"]),
        ({"startup_models": [""]}, [""]),
        ({"startup_models": "*"}, ["b", "c"]),
        ({"startup_models": ["b", "c"]}, ["b", "c"]),
        ({"model_control_mode": "none"}, ["b", "c"]),
        ({"model_control_mode": "poll"}, ["b", "c"]),
    ],
)
def test_a_failure_of_many_has_tritons_text_and_every_reason(models, settings, names):
    """Triton only logs the reasons."""
    error = failure(models, **settings)

    assert ("failed to load all models", "INTERNAL") == (error.message, error.code)
    assert names == [
        line.partition(":")[0]
        for line in error.reason.splitlines()
        if line.partition(":")[0] in ("", "a", "b", "c", "nowhere") and ":" in line
    ]


def test_a_folder_that_is_not_a_model_is_explained(models):
    """A repository may contain tests, with which a real server does not start."""
    (models / "tests").mkdir()
    advice = failure(models, model_control_mode="none").advice

    assert (
        "Triton takes every folder of a repository for a model, and would not start "
        "either: 'tests' with neither a configuration nor a version can be moved "
        "elsewhere.\nWith exit_on_error=False a server starts nevertheless."
    ) == advice


def test_folders_of_models_are_not_to_be_moved(models):
    """They only fail to load."""
    advice = failure(models, model_control_mode="none").advice

    assert "With exit_on_error=False a server starts nevertheless." == advice


@pytest.mark.parametrize(
    "settings",
    [
        {"startup_models": "*"},
        {"model_control_mode": "none"},
        {"model_control_mode": "poll"},
    ],
)
def test_a_server_can_start_without_failing_models(models, settings):
    """With exit_on_error=False the failures are logged."""
    with Server(model_repository=models, exit_on_error=False, **settings) as server:
        assert ["READY", "UNAVAILABLE", "not loaded"] == [
            model.state for model in server.models()
        ]
        assert [("b", "ERROR"), ("c", "ERROR")] == [
            (each.model, each.level) for each in server.log.lines
        ]
        b, c = (each.text for each in server.log.lines)
        begin, _, reason = b.partition(";\n\nInternal: ")
        assert begin.startswith(
            "load failed for model 'b': version 1 is at UNAVAILABLE"
        )
        assert reason.startswith("ZeroDivisionError: division by zero\n")
        polled = "failed to load 'c', failed to poll from model repository\n"
        assert c.startswith(polled)
        assert len(c) > len(polled)


@pytest.mark.parametrize(
    ("mode", "names", "text"),
    [
        (
            "explicit",
            ["*", "a"],
            "Wildcard model name '*' must be the ONLY startup model if specified at "
            "all.",
        ),
        ("poll", ["a"], NEEDS_EXPLICIT.format("poll")),
        ("none", ["*"], NEEDS_EXPLICIT.format("none")),
        (
            "bogus",
            [],
            "model_control_mode='bogus' is not valid; expected 'none', 'poll' or "
            "'explicit'",
        ),
    ],
)
def test_startup_models_require_explicit_mode(mode, names, text):
    """The errors have Triton's texts where they exist."""
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Server(model_control_mode=mode, startup_models=names)


def test_modes_are_known_by_tritons_names():
    """The names are in lower case."""
    assert [ControlMode.NONE, ControlMode.POLL, ControlMode.EXPLICIT] == [
        parse_control_mode(text, ()) for text in ("none", "poll", "explicit")
    ]


def test_a_configuration_may_be_chosen_by_name(models):
    """It is used by every model that has a configuration of that name."""
    (models / "a" / "configs").mkdir()
    (models / "a" / "configs" / "small.pbtxt").write_text(
        f"{CONFIG} instance_group {{ count: 3 kind: KIND_CPU }}"
    )
    with Server(
        model_repository=models, startup_models="a", model_config_name="small"
    ) as server:
        assert 3 == server.model("a").instance_count
