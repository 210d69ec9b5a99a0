"""Specification of cards and tables."""

import re
from dataclasses import replace
from pathlib import Path

from blsnb.magics import card
from blsnb.repository.export import Exported
from blsnb.repository.status import ModelStatus


def status(**changed):
    facts = {
        "name": "add",
        "versions": (1,),
        "state": "READY",
        "reason": "",
        "inputs": ("X:FP32[-1]",),
        "outputs": ("Y:FP32[-1]",),
        "max_batch_size": 0,
        "instance_count": 1,
        "load_s": 0.0041,
    }
    return ModelStatus(**(facts | changed))


def test_a_card_is_one_line_of_text():
    """It has name, version, state, inputs, outputs and load time."""
    expected = "add version 1 READY  X:FP32[-1] -> Y:FP32[-1]  loaded in 4.1 ms"

    assert expected == card.text(status())


def test_a_card_has_a_division_for_each_fact():
    """The code of its page is that of its text, with arrows; nothing is empty."""
    full = status(
        max_batch_size=8,
        instance_count=2,
        origin="cell In[3]",
        differs="/opt/add",
        steps=("a -> b",),
        reason=" slow ",
        trouble=("old",),
        running=("busy",),
        findings=("odd",),
        advice="do it",
    )
    facts = (
        "max batch size 8",
        "2 instances",
        "from cell In[3]",
        "differs from /opt/add",
        "loaded in 4.1 ms",
    )
    warnings = ["⚠ slow", "do it", "⚠ old", "⚠ busy", "⚠ odd"]
    rows = [
        "<b>add</b> version 1 READY",
        "<code>X:FP32[-1] → Y:FP32[-1]</code>",
        "<code>a → b</code>",
        " · ".join(facts),
        *warnings,
    ]
    shown = card.bundle(full)

    assert page("#12866a", rows) == shown["text/html"]
    head = "  ".join(("add version 1 READY", "X:FP32[-1] -> Y:FP32[-1]", *facts))
    assert "\n".join([head, "  a -> b", *warnings]) == shown["text/plain"]
    bare = {"inputs": (), "outputs": (), "load_s": 0}
    assert page("#12866a", rows[:1]) == card.bundle(status(**bare))["text/html"]


def page(colour, rows):
    """Return a card with a bar of a colour, and rows."""
    style = (
        f"display:inline-block;border:1px solid #8888;border-left:4px solid {colour};"
        "border-radius:4px;padding:4px 12px;font-size:13px;line-height:1.6"
    )
    inner = "".join(f"<div>{row}</div>" for row in rows)
    return f'<div class="blsnb-card" style="{style}">{inner}</div>'


def test_an_export_has_its_models_and_notes():
    """What is deployed names its README, and what is in place does not."""
    done = Exported(Path("out"), ("a", "b"), ("odd",))
    notes = ["⚠ odd"]
    served = ["2 exported to out: a, b", *notes, "how to serve them: out/README.md"]
    written = ["written to out: a, b", *notes]
    same = ["nothing to write: no cell differs from the folder of its model", *notes]

    for lines, shown in (
        (served, card.exported(done)),
        (written, card.written_back(done)),
        (same, card.written_back(replace(done, models=()))),
    ):
        assert "\n".join(lines) == shown["text/plain"]
        assert page("#12866a", lines) == shown["text/html"]


def test_a_notice_is_a_card_of_one_sentence():
    """It is orange, as a stand-in is."""
    shown = card.notice("Look <here>")

    assert "⚠ Look <here>" == shown["text/plain"]
    assert page("#b54708", ["⚠ Look &lt;here&gt;"]) == shown["text/html"]


def test_files_without_a_model_name_the_command_that_loads_them():
    """Another state, or a finding, needs another step."""
    waiting = {"versions": (), "state": "not loaded", "load_s": 0.0}

    assert card.text(status(**waiting)).endswith("\n%triton load add loads it")
    assert card.text(status(**waiting, findings=("odd",))).endswith("\n⚠ odd")
    assert "loads it" not in card.text(status())


def test_a_row_has_its_origin_and_its_first_line_of_a_failure():
    """A stand-in is named in the state, and a model without versions has a dash."""
    rows = [
        status(origin="cell In[3]", differs="/opt/add", instance_count=2),
        status(versions=(1, 2), standin="values", max_batch_size=4, running=("busy",)),
        status(
            versions=(),
            state="UNAVAILABLE",
            load_s=0.1,
            reason="first\nsecond",
            trouble=("old",),
            advice="do it",
        ),
    ]
    said = [
        [cell.strip() for cell in re.split(" {2,}", line)]
        for line in card.table(rows)["text/plain"].splitlines()
    ]

    flow = "X:FP32[-1] → Y:FP32[-1]"
    more = "max batch size 4 · loaded in 4.1 ms · busy"
    changed = "cell In[3], differs from /opt/add: %triton diff add"
    assert [
        ["model", "version", "state", "from", "inputs → outputs"],
        ["add", "1", "READY", changed, flow, "2 instances · loaded in 4.1 ms"],
        ["add", "1, 2", "READY, stand-in", flow, more],
        ["add", "-", "UNAVAILABLE", flow, "loaded in 100 ms · old · first · do it"],
    ] == said


def test_unusual_settings_are_added():
    """Batching and several instances are shown."""
    text = card.text(status(max_batch_size=8, instance_count=2))

    assert "max batch size 8  2 instances  loaded" in text


def test_a_failure_is_shown_below_the_serving_version():
    """Both facts are in HTML and text."""
    shown = card.bundle(status(), "the new one did not load")

    expected = "⚠ the new one did not load: the previous version still serves"
    assert expected == shown["text/plain"].splitlines()[1]
    assert expected in shown["text/html"]


def test_a_model_that_does_not_serve_has_its_reason():
    """The reason is that of the repository index."""
    gone = status(versions=(), state="UNAVAILABLE", reason="unloaded", load_s=0.0)

    expected = "add UNAVAILABLE  X:FP32[-1] -> Y:FP32[-1]\n⚠ unloaded"
    assert expected == card.text(gone)


def test_cells_of_a_table_are_aligned_to_the_left():
    """JupyterLab aligns them to the right by default."""
    page = card.table([status()])["text/html"]

    styles = re.findall(r"<t[hd]\b(.*?)>", page)
    assert 2 * 6 * [' style="text-align:left"'] == styles


def test_folders_are_short(tmp_path, monkeypatch):
    """A folder is relative to the working directory or to the home directory."""
    here, home = tmp_path / "work", tmp_path / "home"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))

    shown = [
        card.short_path(text)
        for text in (str(here / "models/add"), str(home / "m/add"), "/opt/add", "In[3]")
    ]
    assert ["models/add", "~/m/add", "/opt/add", "In[3]"] == shown
    [row] = card.table([status(origin=str(here / "models/add"))])["text/plain"].split(
        "\n"
    )[1:]
    assert " models/add " in row


def test_steps_of_an_ensemble_beyond_the_maximum_are_counted():
    """A card shows twelve of them."""
    steps = tuple(f"step {number}" for number in range(15))
    page = card.bundle(status(steps=steps))["text/html"]

    assert "step 11</code>" in page
    assert "step 12" not in page
    assert "<code>… 3 more steps</code>" in page
    assert card.text(status(steps=steps[:13])).endswith("… 1 more step")
    assert "more" not in card.text(status(steps=steps[:12]))


def test_incomplete_files_are_not_a_failure():
    """A configuration without a model is neither green nor red."""
    waiting = {"versions": (), "state": "not loaded", "load_s": 0.0}
    page = card.bundle(status(**waiting))["text/html"]
    odd = card.bundle(status(**waiting, findings=("an odd line",)))["text/html"]
    bar = re.compile(r"border-left:4px solid (#\w+)")

    assert "#8888" == bar.search(page)[1]
    assert "#b42318" == bar.search(odd)[1]


def test_the_bar_tells_a_standin_from_a_model_and_a_failure():
    """A stand-in that does not serve is a failure."""
    failed = {"versions": (), "state": "UNAVAILABLE", "load_s": 0.0}
    shown = [
        status(),
        status(standin="values"),
        status(**failed, standin="values"),
    ]
    pages = [card.bundle(each)["text/html"] for each in shown]
    bar = re.compile(r"border-left:4px solid (#\w+)")

    assert ["#12866a", "#b54708", "#b42318"] == [bar.search(page)[1] for page in pages]


def test_names_are_escaped():
    """Names of models and tensors are foreign texts."""
    hostile = "<script>alert(1)</script>"
    shown = card.bundle(status(name=hostile, inputs=(hostile,)), hostile)
    table = card.table([status(name=hostile)])

    assert "<script" not in shown["text/html"] + table["text/html"]


def test_many_tensors_are_counted():
    """A card with many tensors stays small."""
    many = tuple(f"X{n}:FP32[1]" for n in range(9))

    assert "X7:FP32[1] and 1 more -> Y" in card.text(status(inputs=many))
    assert "X7:FP32[1] -> Y" in card.text(status(inputs=many[:8]))
    assert " X0:FP32[1] -> nothing " in card.text(status(inputs=many[:1], outputs=()))
    assert " nothing -> Y" in card.text(status(inputs=()))


def test_times_are_short():
    """Times have three digits."""
    times = [card.milliseconds(s) for s in (0.00412, 0.0994, 0.1, 0.12345, 1, 2.5)]

    assert ["4.1 ms", "99.4 ms", "100 ms", "123 ms", "1.00 s", "2.50 s"] == times


def test_a_table_without_rows_has_its_head():
    """An empty table has column titles."""
    empty = card.grid(("model", "version"), [])

    assert "model  version" == empty["text/plain"]
    left = 'th style="text-align:left"'
    assert (
        f"<table><thead><tr><{left}>model</th><{left}>version</th></tr></thead>"
        "<tbody></tbody></table>" == empty["text/html"]
    )
