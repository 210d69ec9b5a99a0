"""Plans of a live server: applied, refused, exported."""

from __future__ import annotations

import pytest
from asserting import some
from cells import CONFIG, DOUBLE
from whole_text import whole

from blsnb.errors import BlsnbError, ModelLoadError
from blsnb.model.config import parse_pbtxt
from blsnb.parts.server_parts import parts_of
from blsnb.planning.calibration import HERE, CalibratedModel, Calibration
from blsnb.planning.options import options
from blsnb.planning.plans.live_models import LiveModels

from ..configs import config, quick_plan, waits

WRITTEN = f"{CONFIG} # Two would be too many.\n"
SLEEPY = DOUBLE.replace("class", "# another source\nclass", 1)


@pytest.fixture
def plan(server):
    """Return a function that plans two instances for two served models."""
    for name in ("double", "twice"):
        server.define(name, DOUBLE, config=WRITTEN)
    return lambda: plan_of(server, "double", "twice")


def plan_of(server, *names, count=2):
    """Return a plan of models that work for 10 ms."""
    parts = parts_of(server)
    configs = {name: parts.engine.catalog.config(name) for name in names}
    models = {
        name: CalibratedModel(each, {1: [waits(10)]}) for name, each in configs.items()
    }
    found = Calibration(names[0], HERE, models, 8.0)
    compared = options(configs, {name: [count] for name in names}, {}, {})
    return quick_plan(found, compared[0], live=LiveModels(parts, names))


def count_of(server, name):
    """Return the number of instances that serve."""
    return len(parts_of(server).engine.catalog.find(name).pool.instances)


def test_a_plan_is_applied(server, plan):
    """Its models have the planned instances; the written settings are kept."""
    found = plan()
    written = parse_pbtxt(server_file(server, "double").read_text())

    assert ["double", "twice"] == found.apply()
    assert [2, 2] == [count_of(server, name) for name in ("double", "twice")]
    after = parse_pbtxt(server_file(server, "double").read_text())
    assert 2 == after.message.instance_group[0].count
    assert written.message.input == after.message.input
    assert [] == found.apply()


def test_an_applied_plan_keeps_comments_and_formatting(server):
    """One number of the file changes."""
    server.define("double", DOUBLE, config=COMMENTED)
    plan_of(server, "double").apply()
    expected = COMMENTED.replace("count: 1,", "count: 2,")

    assert expected == server_file(server, "double").read_text()
    assert 2 == count_of(server, "double")


COMMENTED = f"""# Owned by the vision team.
{CONFIG}
instance_group [ {{ count: 1, kind: KIND_CPU }} ]  # one is enough at night
"""


def server_file(server, name):
    """Return the path of a model's config.pbtxt."""
    return parts_of(server).repository.directory(name).config_file


OBSERVED = (
    "model 'twice' was observed before its {} changed; nothing was changed. Plan again."
)


def test_a_changed_configuration_is_not_overwritten(server, plan):
    """The other model is unchanged, too."""
    found = plan()
    server.define("twice", DOUBLE, config=f"{CONFIG} version_policy {{ all {{ }} }}")

    with pytest.raises(BlsnbError, match=whole(OBSERVED.format("configuration"))):
        found.apply()
    assert [1, 1] == [count_of(server, name) for name in ("double", "twice")]


def test_a_plan_of_another_source_is_refused(server, plan):
    """Its service times say nothing of the new one."""
    found = plan()
    server.define("twice", SLEEPY, config=WRITTEN)

    with pytest.raises(BlsnbError, match=whole(OBSERVED.format("source"))):
        found.apply()


def test_a_plan_of_a_removed_model_is_refused(server, plan):
    """The text says what to do."""
    found = plan()
    server.remove("twice")

    gone = "model 'twice' is no longer served; nothing was changed. Plan again."
    with pytest.raises(BlsnbError, match=whole(gone)):
        found.apply()


def test_an_overridden_configuration_is_not_changed(server, plan):
    """It would come back with the next load."""
    server.load("twice", config={"max_batch_size": 0})
    found = plan()

    text = (
        "model 'twice' serves with a configuration or files of its load() call, which "
        "a plan does not change; nothing was changed"
    )
    with pytest.raises(BlsnbError, match=whole(text)):
        found.apply()


def test_all_models_are_changed_or_none(server):
    """The first one is as before if the second one does not load."""
    server.define("double", DOUBLE, config=WRITTEN)
    server.define("picky", PICKY, config=WRITTEN)
    found = plan_of(server, "double", "picky", count=3)
    before = server_file(server, "double").read_bytes()

    with pytest.raises(ModelLoadError, match="no more than one"):
        found.apply()
    assert before == server_file(server, "double").read_bytes()
    assert [1, 1] == [count_of(server, name) for name in ("double", "picky")]


PICKY = f"""{DOUBLE}
    def initialize(self, args):
        if not args["model_instance_name"].endswith("_0"):
            raise ValueError("no more than one")
"""


def test_two_plans_are_applied_one_after_the_other(server, plan):
    """The second one is of the models that the first one has changed."""
    first, second = plan(), plan_of(server, "double", count=3)
    first.apply()

    with pytest.raises(BlsnbError, match="Plan again"):
        second.apply()
    plan_of(server, "double", count=3).apply()
    assert 3 == count_of(server, "double")


def test_a_plan_is_applied_again_to_the_models_that_it_observed(server, plan):
    """One of them has its observed configuration again, the other is still applied."""
    found = plan()
    found.apply()
    server.define("twice", DOUBLE, config=WRITTEN)

    assert ["twice"] == found.unapplied() == found.apply()
    assert [2, 2] == [count_of(server, name) for name in ("double", "twice")]
    assert [] == found.apply()


def test_a_plan_is_exported(server, plan, tmp_path):
    """The repository has the planned settings, the server those before."""
    exported = plan().export(tmp_path / "out")
    texts = [tmp_path / "out" / name / "config.pbtxt" for name in exported.models]

    assert ("double", "twice") == exported.models
    for path in some(texts):
        assert 2 == parse_pbtxt(path.read_text()).message.instance_group[0].count
    assert 1 == count_of(server, "double")


def test_a_model_without_a_configuration_is_exported_with_one(server, tmp_path):
    """It has what is planned, and the rest is completed on loading."""
    server.define("double", COMPLETING)
    found = plan_of(server, "double")
    found.export(tmp_path / "out")
    found.apply()
    text = (tmp_path / "out" / "double" / "config.pbtxt").read_text()

    assert text == server_file(server, "double").read_text()
    assert 2 == count_of(server, "double")


COMPLETING = f"""{DOUBLE}
    @staticmethod
    def auto_complete_config(config):
        config.set_max_batch_size(0)
        config.add_input({{"name": "X", "data_type": "TYPE_FP32", "dims": [-1]}})
        config.add_output({{"name": "Y", "data_type": "TYPE_FP32", "dims": [-1]}})
        return config
"""


def test_a_plan_without_a_server_says_so():
    """It has its configurations as text."""
    models = {"m": CalibratedModel(config("m"), {1: [waits(10)]})}
    found = Calibration("m", HERE, models, 8.0)
    compared = options({"m": config("m")}, {"m": [2]}, {}, {})

    text = "this plan has no server: write its configs into the folders yourself"
    with pytest.raises(BlsnbError, match=whole(text)):
        quick_plan(found, compared[0]).apply()


def test_a_plan_of_an_unloaded_model_is_not_applied_nor_checked(server, few_requests):
    """Both name the model and say what to do."""
    server.define("double", DOUBLE, config=CONFIG)
    options = {"instances": {"double": [2]}, "requests": 3, "duration_s": 0.1}
    plan = server.plan("double", {"X": [1.0, 2.0]}, rate=20, p99_ms=1e5, **options)
    server.unload("double")

    text = "model 'double' is no longer served"
    again = f"{text}; nothing was changed. Plan again."
    with pytest.raises(BlsnbError, match=whole(again)):
        plan.apply()
    with pytest.raises(BlsnbError, match=whole(f"{text}. Load it to check the plan.")):
        plan.check(duration_s=0.1)
