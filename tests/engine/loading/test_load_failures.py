"""Errors of failed loads, with the texts of Triton's load call."""

from __future__ import annotations

import pytest

from blsnb.engine.instance.instance import HookFailed
from blsnb.engine.loading.load_failures import (
    check_name,
    code_text,
    create_failed,
    dependency_failed,
    last_line,
    no_version,
    out_of_memory,
    poll_failed,
    refuse_circle,
    refuse_crossed,
    with_findings,
)
from blsnb.errors import ModelConfigError, ModelLoadError
from blsnb.model.config import ModelConfig
from blsnb.repository.directory import ModelDirectory

AFTER = (
    "Call load_model() in execute(), or load the models one after the other from a "
    "client."
)
NONE_SELECTED = (
    "at least one version must be available under the version policy of model 'm'"
)
BLANK = "Model name cannot be empty. Please enter a valid name to deploy."
TRAVERSAL = "invalid model name '{}', model name must not contain path traversal "


def facts(error: ModelLoadError) -> tuple[object, ...]:
    """Return all that an error has."""
    return (
        error.message,
        error.code,
        error.reason,
        error.advice,
        error.stage,
        error.reasons,
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("INTERNAL", "Internal"),
        ("INVALID_ARG", "Invalid argument"),
        ("NOT_FOUND", "Not found"),
        ("UNAVAILABLE", "Unavailable"),
        ("UNSUPPORTED", "Unsupported"),
        ("ALREADY_EXISTS", "Already exists"),
        ("UNKNOWN", "Unknown"),
    ],
)
def test_log_lines_begin_with_the_words_of_a_code(code, words):
    """They are those of Triton's status."""
    assert words == code_text(code)


def test_a_load_that_fails_early_names_its_step():
    """The client of a failed poll gets no reason, as on Triton."""
    text = "failed to load 'm', failed to poll from model repository"
    assert (text, "INTERNAL", "why", "do", "poll", None) == facts(
        poll_failed("m", "why", "do")
    )
    assert (
        "load failed for model 'm': why\n",
        "INVALID_ARG",
        "why",
        "do",
        "dependency",
        None,
    ) == facts(dependency_failed("m", "why", "do"))


def test_each_failed_version_has_a_state_and_a_reason():
    """Equal advice appears once; versions without an error are unloaded."""
    noted = ValueError("no")
    noted.add_note("a note")
    errors = {
        3: ModelConfigError("wrong", stage="create", code="NOT_FOUND", advice="do"),
        1: HookFailed("ValueError: no", noted),
        4: ModelConfigError("bad", stage="create", advice="do"),
    }

    error = create_failed("m", [1, 2, 3, 4], errors, {1})

    reasons = ("Not found: wrong", "Internal: ValueError: no", "Invalid argument: bad")
    assert (
        "load failed for model 'm': "
        f"version 3 is at UNAVAILABLE state: {reasons[0]};"
        f"version 1 is at READY state: {reasons[1]};"
        f"version 4 is at UNAVAILABLE state: {reasons[2]};\n",
        "INVALID_ARG",
        reasons[0],
        "do\na note",
        "create",
        {1: reasons[1], 2: "unloaded", 3: reasons[0], 4: reasons[2]},
    ) == facts(error)


def test_a_load_without_memory_names_the_settings_of_its_tensors():
    """The cause stays."""
    cause = MemoryError()
    error = out_of_memory(cause)

    assert (
        "out of memory: the initial states or warm-up samples are too large",
        "INTERNAL",
        "Check the dims in sequence_batching.state and model_warmup.",
        "create",
        cause,
    ) == (error.message, error.code, error.advice, error.stage, error.__cause__)


@pytest.mark.parametrize(
    ("config", "versions", "advice"),
    [
        (
            'backend: "python" version_policy { specific { versions: 7 } }',
            (1, 2),
            "version_policy selects none of the versions in the folder: 1, 2.",
        ),
        (
            'platform: "ensemble" ensemble_scheduling { }',
            (),
            "An ensemble needs a version folder, which may be empty: mkdir m/1. Git "
            "does not keep empty folders, so a cloned repository has none.",
        ),
        (
            'backend: "python"',
            (),
            "It is loaded once it has m/1/.",
        ),
    ],
)
def test_advice_on_missing_versions(tmp_path, config, versions, advice):
    """It depends on what the folder has."""
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "config.pbtxt").write_text(config, encoding="utf-8")
    for number in versions:
        (folder / str(number)).mkdir()
    directory = ModelDirectory(folder)

    error = no_version(directory, directory.config())

    assert (
        f"load failed for model 'm': {NONE_SELECTED}\n",
        "INVALID_ARG",
        NONE_SELECTED,
        advice,
        "dependency",
        {},
    ) == facts(error)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", BLANK),
        (" \t", BLANK),
        ("..", TRAVERSAL.format("..") + "characters"),
        ("a/b", TRAVERSAL.format("a/b") + "characters"),
    ],
)
def test_a_name_is_neither_blank_nor_a_path(name, text):
    """The texts are Triton's."""
    with pytest.raises(ModelLoadError) as caught:
        check_name(name)

    assert (text, "INVALID_ARG", "poll") == (
        caught.value.message,
        caught.value.code,
        caught.value.stage,
    )


@pytest.mark.parametrize("name", ["a", "...", ".", "a..b", "a b"])
def test_other_names_are_valid(name):
    """Dots and blanks may be part of a name."""
    assert check_name(name) is None


@pytest.mark.parametrize(
    ("refuse", "text"),
    [
        (
            refuse_circle,
            "Triton would hang: loading 'm' calls initialize(), which calls "
            "pb_utils.load_model('m'), which waits until 'm' is loaded. ",
        ),
        (
            refuse_crossed,
            "Triton would hang: initialize() calls pb_utils.load_model('m'), which "
            "waits for another load of 'm', which itself waits for this load. ",
        ),
    ],
)
def test_a_load_that_would_hang_says_why(refuse, text):
    """It is an error of the load unless a request waits for it."""
    with pytest.raises(ModelLoadError) as caught:
        refuse("m", None)

    assert (text + AFTER, "INTERNAL") == facts(caught.value)[:2]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            ModelLoadError("m", reason="Internal: ValueError: no\n\nAt:\n x"),
            "ValueError: no",
        ),
        (ModelLoadError("text\n  KeyError: 'x'\nKeyError: 'y'"), "KeyError: 'x'"),
        (ModelLoadError("Internal: out of luck\nmore"), "out of luck"),
        (KeyError("x"), "'x'"),
        (ValueError(), ""),
        (ModelLoadError("m", reason="a\n SystemExit: 3"), "SystemExit: 3"),
        (ModelLoadError("m", reason="a\nMyException"), "MyException"),
        (ModelLoadError("m", reason="a\nKeyboardInterrupt"), "KeyboardInterrupt"),
        (ModelLoadError("m", reason="first\nan Error"), "first"),
    ],
)
def test_the_line_of_a_failed_load_names_the_exception(error, line):
    """Without one it is the first line."""
    assert line == last_line(error)


class Unread:
    """A folder whose configuration cannot be read."""

    def config(self) -> ModelConfig:
        raise ModelConfigError("no", stage="poll")


def test_advice_is_followed_by_findings_about_the_configuration(tmp_path):
    """An unreadable configuration has none."""
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "config.pbtxt").write_text(
        'backend: "python" dynamic_batching { }',
        encoding="utf-8",
    )

    assert "do" == with_findings("do", Unread(), 0)
    assert "" == with_findings("", Unread(), 0)
    finding = (
        "Dynamic_batching has no effect while max_batch_size is 0: every request is "
        "executed alone."
    )
    directory = ModelDirectory(folder)
    assert f"do\n{finding}" == with_findings("do", directory, 0)
    assert finding == with_findings("", directory, 0)
