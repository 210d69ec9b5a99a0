"""Specification of %triton plan."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError
from planning.conftest import few_requests  # noqa: F401 (a fixture)

from blsnb.errors import InferenceError
from blsnb.inference_server import Server
from blsnb.magics import default_server as default
from blsnb.magics.load_tests import plan
from blsnb.magics.load_tests.plan import plan_flags
from blsnb.planning.plans.check import Check, Checked
from blsnb.views.live import apply_button

from ..models import DOUBLE
from ..test_followed import CONFIG, make

pytestmark = pytest.mark.usefixtures("few_requests")
PLAN = (
    "%triton plan double X=[1.0, 2.0] --rate 20 --p99 10s --instances double=1..2 "
    "--seed 3"
)
BENCH = "%triton bench double X=[1.0, 2.0] --duration 0.1s --concurrency 1"
WIDE_PLAN = PLAN.replace("--p99 10s", "--p99 100s")


@pytest.fixture
def double(notebook):
    """A notebook with a model that doubles."""
    notebook.run(DOUBLE.replace("--input", "--quiet --input"))
    return notebook


@pytest.fixture
def briefly(monkeypatch):
    """Observe the planned models for a fraction of a second."""
    defaults = Server.plan.__kwdefaults__
    monkeypatch.setitem(defaults, "duration_s", 0.1)
    monkeypatch.setitem(defaults, "requests", 3)


@pytest.mark.usefixtures("briefly")
def test_a_plan_is_a_table_a_figure_and_a_difference(double):
    """The value is the plan, whose text is the output's."""
    ran = double.run(PLAN)
    [shown] = ran.outputs

    assert ran.value.holds
    assert 2 == len(ran.value.judged)
    assert shown["text/plain"] == str(ran.value)
    assert "<li>The calibration simulates 1 client" in shown["text/html"]
    assert 'class="blsnb-picture"' in shown["text/html"]
    assert "planned rate" in shown["text/html"]


@pytest.mark.usefixtures("briefly")
def test_a_difference_after_a_plan_is_what_it_changed(notebook, tmp_path):
    """The folder of an imported model stays, and so does all else of its text."""
    make(tmp_path / "models")
    file = tmp_path / "models" / "double" / "config.pbtxt"
    file.write_text(f"{CONFIG}instance_group [ {{ count: 1 }} ]  # at night\n")
    notebook.run(f"%triton import {tmp_path / 'models'}")
    notebook.run(f"plan = {WIDE_PLAN.replace('double=1..2', 'double=3')}")
    applied = notebook.run("plan.apply()")
    [shown] = notebook.run("%triton diff").texts

    assert ["double"] == applied.value
    assert [
        "-instance_group [ { count: 1 } ]  # at night",
        "+instance_group [ { count: 3 } ]  # at night",
    ] == [
        line for line in shown.splitlines() if line[0] in "+-" and line[1] not in "+-"
    ]
    assert "count: 1" in file.read_text()


@pytest.fixture
def buttons(double, monkeypatch):
    """The buttons of the plans that a notebook in a page displays, oldest first."""
    made = []
    created = apply_button.ApplyButton
    double.run("import blsnb")
    monkeypatch.setattr(plan, "has_page", lambda shell: True)
    monkeypatch.setattr(
        apply_button,
        "ApplyButton",
        lambda *given: made.append(created(*given)) or made[-1],
    )
    return made


TWO_PLAN = (
    "blsnb.plan('double', {'X': [1.0, 2.0]}, rate=20, p99_ms=1e5, "
    "instances={'double': [2]}, requests=3, duration_s=0.1)"
)


def test_a_click_applies_a_plan(double, buttons):
    """The words beside the button say what changed."""
    [shown] = double.run(f"plan = {TWO_PLAN}\nplan").outputs[-1:]
    [found] = buttons

    assert "blsnb-placed" in shown["text/html"]
    assert not found.button.disabled
    assert "To be applied: double 2 instances." in found.status.value
    found.button.click()
    assert "Applied: double 2 instances." in found.status.value
    [group] = default.server().config("double")["instance_group"]
    assert 2 == group["count"]


def test_a_click_applies_a_plan_again_after_its_change_was_undone(double, buttons):
    """The button of the first display is enabled after each click."""
    observed = double.run("%triton config double").stdout
    double.run(f"plan = {TWO_PLAN}\nplan")
    [found] = buttons
    found.button.click()
    double.run(f"%%triton_config double\n{observed}")
    assert 1 == default.server().config("double")["instance_group"][0]["count"]
    assert not found.button.disabled
    found.button.click()

    assert "Applied: double 2 instances." in found.status.value
    assert 2 == default.server().config("double")["instance_group"][0]["count"]


def test_a_click_on_an_applied_plan_says_that_nothing_differs(double, buttons):
    """A second display of the plan compares with the models as they are then."""
    double.run(f"plan = {TWO_PLAN}\nplan")
    double.run("plan.apply()")
    double.run("plan")
    [first, second] = buttons
    first.button.click()

    assert not second.button.disabled
    for each in buttons:
        assert "The models have this configuration." in each.status.value


def test_a_click_on_an_older_plan_says_what_prevents_it(double, buttons):
    """Another plan has changed the model after this one had observed it."""
    double.run(f"old = {TWO_PLAN}\nold")
    double.run(f"new = {TWO_PLAN.replace('[2]', '[3]')}\nnew.apply()")
    double.run("old")
    buttons[0].button.click()

    for each in (buttons[0], buttons[-1]):
        assert "observed before its configuration changed" in each.status.value
    assert not buttons[0].button.disabled
    assert buttons[-1].button.disabled


def test_a_plan_that_is_not_held_has_no_change_to_click(double, buttons):
    """The words have the reason."""
    double.run(TWO_PLAN.replace("1e5", "1e-3"))
    [found] = buttons

    assert found.button.disabled
    assert "No configuration holds the load" in found.status.value


class Interrupted:
    """A plan whose application is interrupted."""

    def unapplied(self):
        """Return a model."""
        return ["m"]

    def apply(self):
        """Change nothing."""
        raise KeyboardInterrupt

    def changes(self, models):
        """Return the settings of the model."""
        return f"{models[0]} 2 instances"


def test_an_interrupted_click_may_be_repeated():
    """Nothing was changed; it is called where an interrupt reaches it."""
    clicks = []
    found = apply_button.ApplyButton(Interrupted(), clicks.append)
    found.button.click()
    assert "Applying" in found.status.value
    assert found.button.disabled
    clicks.pop()()

    assert "Interrupted: nothing was changed." in found.status.value
    assert not found.button.disabled


@pytest.mark.parametrize(
    ("name", "text"),
    [("nowhere", "'nowhere' is not found"), ("double", "has no available versions")],
)
def test_a_plan_of_a_model_that_is_not_ready_says_so(double, name, text):
    """The error is the one that a request receives."""
    double.run("%triton unload double")
    ran = double.run(f"%triton plan {name} X=[1.0] --rate 5 --p99 1s")

    assert isinstance(ran.error, InferenceError)
    assert text in str(ran.error)


def test_a_plan_without_a_page_has_no_button(double):
    """Programs that execute notebooks, and terminals, show no dead button."""
    [shown] = double.run(f"import blsnb\n{TWO_PLAN}").outputs

    assert "blsnb-placed" not in shown["text/html"]


def test_choices_are_ranges_lists_and_times():
    """Each option may be repeated."""
    line = (
        "--rate 5 --p99 50ms --instances a=1..3 --instances b=2,4 "
        "--delay a=0,500us,2ms --batch a=1,8 --cores 8"
    )
    given = plan_flags().parse(line.split())

    assert [("a", [1, 2, 3]), ("b", [2, 4])] == given.instances
    assert [("a", [0, 500, 2000])] == given.delay
    assert [("a", [1, 8])] == given.batch
    assert ((5.0,), 0.05, 8.0) == (given.rate, given.p99, given.cores)


def test_a_load_has_sequences_priorities_and_a_timeout():
    """Shares are percentages or numbers."""
    line = "--rate 5 --p99 1s --sequence 4,8 --priorities 1=20%,2=0.8 --timeout 50ms"
    given = plan_flags().parse(line.split())

    assert (4, 8) == given.sequence
    assert {1: 0.2, 2: 0.8} == given.priorities
    assert 0.05 == given.timeout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--p99 50ms", "required: --rate"),
        ("--rate 5 --p99 50ms --instances a", "not a model with numbers"),
        ("--rate 5 --p99 50ms --instances a=4..1", "not a model with numbers"),
        ("--rate 5 --p99 50ms --delay a=1h", "not a model with times"),
        ("--rate 5 --p99 1s --sequence 4,x", "not a list of numbers such as 1,2,4"),
        ("--rate 5 --p99 1s --priorities 1:20", "not a list of priorities with sha"),
        ("--rate 5 --p99 1s --sequence 0", "sequence_lengths=[0] is not valid"),
        ("--rate 0 --p99 50ms", "rate=0.0 is not valid"),
        ("--rate 400:50 --p99 50ms", "not a list or a range of requests per second"),
        ("--rate 1:400:0.1 --p99 50ms", "not a list or a range of requests per second"),
        ("--rate 50rps --p99 50ms", "'50rps' is not a list or a range of requests"),
        ("--rate 5 --p99 50", "'50' is not a time with a unit such as 50ms or 1s"),
        ("--rate 5 --p99 1s --batch double=2", "max_batch_size 0, so it has no batch"),
        ("--rate 5 --p99 1s --instances nowhere=1..2", "reaches no model 'nowhere'"),
    ],
)
def test_mistakes_are_errors_in_one_line(double, options, text):
    """They say what was expected."""
    ran = double.run(f"%triton plan double X=[1.0, 2.0] {options}")

    assert isinstance(ran.error, UsageError)
    assert text in ran.stderr


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("50", (50.0,)),
        ("50,100,200", (50.0, 100.0, 200.0)),
        ("50:400", (50.0, 137.5, 225.0, 312.5, 400.0)),
        ("50:400:150", (50.0, 200.0, 350.0, 400.0)),
        ("50:200:50", (50.0, 100.0, 150.0, 200.0)),
    ],
)
def test_rates_are_a_list_or_a_range(text, rates):
    """A range has five rates, or those of its step, and always its end."""
    assert rates == plan_flags().parse(["--rate", text, "--p99", "1s"]).rate


@pytest.mark.usefixtures("briefly")
def test_a_check_is_a_page_and_a_text(double):
    """The page has its table, remarks, and a figure with the measurements."""
    plan = double.run(PLAN).value
    [row] = double.run(BENCH).value.rows
    measured = Checked(20, 1500, 3000, (row._replace(rate=20.0),))
    check = Check(plan, (measured,), ("a < b",))
    shown, _ = double.shell.display_formatter.format(check)

    assert {"text/html", "text/plain"} == shown.keys()
    assert str(check) == shown["text/plain"]
    assert 3 == shown["text/html"].count("<tr>")
    assert "<p>a &lt; b</p>" in shown["text/html"]
    assert ">measured<" in shown["text/html"]


@pytest.mark.slow
def test_a_plan_is_checked_under_its_load(double):
    """The plan is shown first; the value is the check."""
    ran = double.run(f"{PLAN} --check")
    shown = [each["text/plain"] for each in ran.outputs]
    pages = [each["text/html"] for each in ran.outputs]

    assert [False, True] == [">measured<" in page for page in pages]
    assert str(ran.value.plan) == shown[0]
    assert str(ran.value) == shown[1]
    assert [20] == [each.rate for each in ran.value.checked]


def test_a_plan_is_for_this_kernel_unless_another_world_is_named():
    """A real server is started on request only."""
    flags = plan_flags()

    assert "here" == flags.parse(["--rate", "5", "--p99", "1s"]).target
    assert (
        "triton"
        == flags.parse(["--rate", "5", "--p99", "1s", "--target", "triton"]).target
    )
