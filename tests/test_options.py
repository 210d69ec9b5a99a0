"""Settings of the kernel that no server checks."""

import re

import pytest

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
    text = re.escape(f"{name}={value!r} is not valid; expected {expected}")
    with pytest.raises((TypeError, ValueError), match=text):
        setattr(options, name, value)
    with pytest.raises((TypeError, ValueError), match=text):
        options.using(**{name: value}).__enter__()

    assert Options() == options
