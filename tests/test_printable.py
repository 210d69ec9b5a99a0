"""Specification of foreign text at every door: no control sequence passes."""

from dataclasses import replace

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

from blsnb.engine.metrics.registry import MetricRegistry
from blsnb.magics import card
from blsnb.printable import printable
from blsnb.repository.serving_readme import readme_text

EVIL = "evil\x1b]0;title\x07\u202etxt"
X = {"X": np.array([1, 2], np.float32)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a␛[31mb"),
        ("two\nlines", "two␊lines"),
        ("evil\u202etxt", "evil⟨U+202E⟩txt"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("\ud800", "⟨U+D800⟩"),
        ("Löwenbräu 東京", "Löwenbräu 東京"),
    ],
)
def test_invisible_and_reordering_characters_are_marked(text, shown):
    """No name looks like another one, and ordinary text is unchanged."""
    assert shown == printable(text)


def controls(text):
    """Return the control characters of a text."""
    return sorted(set(text) & {"\x1b", "\x07", "\u202e"})


def test_the_repr_of_a_run_has_no_controls(server):
    """Names in files, traces, calls and tensors may contain anything."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", X)
    trace = replace(run.trace, title=EVIL)
    span = replace(run.trace.spans[0], instance=EVIL)

    assert [] == controls(repr(trace)) == controls(repr(span))
    assert "evil␛]0;title␇⟨U+202E⟩txt" in repr(trace)


def test_the_card_of_a_model_has_no_controls(server):
    """Neither HTML nor text has them; line breaks remain."""
    status = server.define("double", DOUBLE, config=CONFIG)
    shown = card.bundle(replace(status, reason=EVIL), f"two\n{EVIL}")

    assert [] == controls(shown["text/html"]) == controls(shown["text/plain"])
    assert "\n" in shown["text/plain"]


def test_the_readme_of_an_export_has_no_controls(tmp_path):
    """A folder may have any name."""
    (tmp_path / EVIL / "1").mkdir(parents=True)

    assert [] == controls(readme_text([tmp_path / EVIL], (24, 10)))


def test_the_metrics_page_has_no_controls():
    """Labels and descriptions come from models, and terminals show the page."""
    registry = MetricRegistry({})
    registry.family("g", EVIL, "GAUGE").sample({"label": EVIL}, ())

    assert [] == controls(registry.exposition(()))


def test_a_run_has_no_controls_in_its_repr(server, monkeypatch):
    """Its model's name may come from a forged file."""
    server.define("double", DOUBLE, config=CONFIG)
    run = server.infer("double", X)
    monkeypatch.setattr(run, "model_name", EVIL)

    assert [] == controls(repr(run))
    assert "evil␛]0;title␇⟨U+202E⟩txt" in repr(run)
