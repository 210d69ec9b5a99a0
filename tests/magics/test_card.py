"""Specification of cards and tables."""

import re

from blsnb.magics import card
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
    text = card.text(status(inputs=tuple(f"X{n}:FP32[1]" for n in range(12))))

    assert "X7:FP32[1], … 4 more -> Y" in text


def test_times_are_short():
    """Times have three digits."""
    times = [card.milliseconds(s) for s in (0.00412, 0.12345, 2.5)]

    assert ["4.1 ms", "123 ms", "2.50 s"] == times


def test_a_table_without_rows_has_its_head():
    """An empty table has column titles."""
    assert "model  version" == card.grid(("model", "version"), [])["text/plain"]
