"""Settings of the kernel, of which a server checks its own in the same way."""

import re

import pytest

from blsnb import Server
from blsnb.options import Options


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("show", "x", "True or False"),
        ("notes", None, "True or False"),
        ("embed_previews", 2, "True or False"),
        ("static", "gif", "'png', or '' for none"),
        ("log_verbose", -1, "0 or more"),
        ("hang_notice_s", "10", "a number of 0 or more"),
    ],
)
def test_an_invalid_setting_of_displays_is_refused_at_once(name, value, expected):
    """No server would refuse it later."""
    options = Options()
    text = f"^{re.escape(f'{name}={value!r} is not valid; expected {expected}')}$"
    with pytest.raises((TypeError, ValueError), match=text):
        setattr(options, name, value)
    with pytest.raises((TypeError, ValueError), match=text):
        options.using(**{name: value}).__enter__()

    assert Options() == options


SETTINGS = {
    "log_verbose": (-1, 1.5, True),
    "keep_runs": (-1, "5"),
    "keep_calls": (-1,),
    "trace_budget_bytes": (-1, None),
    "hang_notice_s": (-1, float("nan")),
    "model_repository": (5,),
    "trace_level": (2,),
    "triton_release": (24.10,),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, each) for name in SETTINGS for each in SETTINGS[name]]
)
def test_a_setting_of_the_server_is_refused_in_the_same_words(name, value):
    """Whether it is an option of the kernel or an argument of a server."""
    with pytest.raises((TypeError, ValueError)) as by_server:
        Server(**{name: value})
    with pytest.raises((TypeError, ValueError)) as by_option:
        setattr(Options(), name, value)

    assert str(by_server.value) == str(by_option.value)


def test_settings_are_restored_after_a_block():
    """Other settings that the block changed remain."""
    options = Options(show=False, keep_runs=7)
    with options.using(show=True, keep_runs=3) as changed:
        assert (options, True, 3) == (changed, options.show, options.keep_runs)
        options.notes = False

    assert Options(show=False, keep_runs=7, notes=False) == options


def test_an_unknown_option_is_refused_with_the_known_ones():
    """The settings before it are restored."""
    options = Options(show=False)
    text = "^unknown option 'oops'; the options are show, notes, static, embed_prev"
    with pytest.raises(AttributeError, match=text):
        options.using(show=True, oops=1).__enter__()

    assert Options(show=False) == options


def test_the_defaults_are_those_of_the_documentation():
    """A notebook shows runs with notes, and keeps 50 of them."""
    assert {
        "show": True,
        "notes": True,
        "static": "",
        "embed_previews": True,
        "log_verbose": 0,
        "hang_notice_s": 10.0,
        "model_repository": None,
        "triton_release": None,
        "trace_level": "tensors",
        "trace_budget_bytes": 268_435_456,
        "keep_calls": 10_200,
        "keep_runs": 50,
        "runtime": "auto",
        "read_limit_bytes": None,
        "hostile_placement": None,
    } == vars(Options())
