"""Settings of a test's server, from its marks and from pytest's options."""

from __future__ import annotations

import pytest

from blsnb.testing.settings import FixtureSettings, SettingError, settings_of


def test_without_marks_the_options_of_pytest_count(tmp_path):
    """A repository is not required."""
    assert FixtureSettings((tmp_path,), ("*",), "class") == settings_of(
        [], [tmp_path], "class", tmp_path
    )
    assert FixtureSettings() == settings_of([], [], "", tmp_path)
    assert FixtureSettings((), ("*",), "function", {}) == FixtureSettings()


def test_the_closest_mark_has_priority(tmp_path):
    """Others add to it; paths are relative to the file of the test."""
    marks = [
        {"models": "a", "rate_limit": "off"},
        {"models": ["b"], "share": "module", "keep_runs": 3, "repository": "models"},
    ]
    found = settings_of(marks, [tmp_path], "class", tmp_path / "tests")

    assert (
        FixtureSettings(
            (tmp_path / "tests" / "models",),
            ("a",),
            "module",
            {"rate_limit": "off", "keep_runs": 3},
        )
        == found
    )
    several = [{"repository": [tmp_path / "x", "../y"], "models": iter(["a", "b"])}]
    found = settings_of(several, [], "", tmp_path / "tests")
    assert (tmp_path / "x", tmp_path / "y") == found.repositories
    assert ("a", "b") == found.models


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (
            {"share": "all"},
            "mark.triton: share='all' is not valid; expected function, class, module, "
            "package, session",
        ),
        (
            {"oops": 1},
            "mark.triton: unknown setting 'oops'; expected repository, models, share, ",
        ),
        (
            {"startup_models": 1},
            "mark.triton: unknown setting 'startup_models'; expected repository, ",
        ),
    ],
)
def test_an_unknown_setting_is_refused(tmp_path, mark, text):
    """The error has the known ones."""
    with pytest.raises(SettingError) as refused:
        settings_of([mark], [], "", tmp_path)
    assert str(refused.value).startswith(text)
    assert str(refused.value).endswith((" trace_level, triton_release", " session"))
    assert "startup_models," not in str(refused.value)


@pytest.mark.parametrize("name", ["models", "repository"])
def test_a_value_that_is_neither_one_nor_several_is_refused(tmp_path, name):
    """A test with such a mark fails with this text, and not inside blsnb."""
    text = f"mark.triton: {name}=3 is not valid; expected one or several"
    with pytest.raises(SettingError, match=f"^{text}$"):
        settings_of([{name: 3}], [], "", tmp_path)


def folder(root, *parts):
    """Create a folder with its parents."""
    found = root.joinpath(*parts)
    found.mkdir(parents=True)
    return found


def test_all_models_of_the_repositories_are_loaded(tmp_path):
    """A folder with the tests is not a model, unless it looks like one."""
    for name in ("b", "a"):
        folder(tmp_path, name, "1")
    tests = folder(tmp_path, "tests") / "test_it.py"
    settings = FixtureSettings((tmp_path,), options={"keep_runs": 3})

    assert {
        "model_repository": [tmp_path],
        "startup_models": ("a", "b"),
        "exit_timeout_s": 1.0,
        "keep_runs": 3,
    } == settings.arguments(tests)
    assert ("a", "b", "tests") == (
        settings.arguments(tmp_path / "other.py")["startup_models"]
    )
    (tmp_path / "tests" / "config.pbtxt").touch()
    assert ("a", "b", "tests") == settings.arguments(tests)["startup_models"]
    (tmp_path / "tests" / "config.pbtxt").rename(tmp_path / "tests" / "1")
    assert ("a", "b", "tests") == settings.arguments(tests)["startup_models"]


def test_a_test_may_name_its_models_or_another_mode(tmp_path):
    """Without a repository it has no folder."""
    named = FixtureSettings((), ("a",), options={"exit_timeout_s": 5})
    polled = FixtureSettings((), options={"model_control_mode": "poll"})

    assert {
        "model_repository": None,
        "startup_models": ("a",),
        "exit_timeout_s": 5,
    } == named.arguments(tmp_path)
    assert {
        "model_repository": None,
        "exit_timeout_s": 1.0,
        "model_control_mode": "poll",
    } == polled.arguments(tmp_path)
