"""Counters of the metrics page: labels, and what a load and an unload do to them."""

import pytest
from tritonclient.grpc import service_pb2 as pb
from waiting import until

from blsnb import ModelLoadError

from .counting import counted, samples
from .elsewhere import make_newest
from .scripted import ACCOUNT, CONFIG, write

TAGS = 'metric_tags { key: "%s" value: "%s" }'
FAILING = ACCOUNT.replace(
    "return self.answer(requests)",
    """if requests[0].request_id() == "fails":
            raise ValueError("no")
        return self.answer(requests)""",
)
FAMILIES = (
    "nv_inference_count",
    "nv_inference_exec_count",
    "nv_inference_pending_request_count",
    "nv_inference_request_failure",
    "nv_inference_request_success",
    "nv_cache_num",
)


def lines(s):
    """Return the counts of a scene's model on the metrics page."""
    return samples(s.target, s.name, *FAMILIES)


def settled(s, requests):
    """Return them once the latest load has counted a number of requests."""
    counted(s.target, s.name, requests)
    return lines(s)


def load_again(s, more=""):
    """Load the model again, with more settings; return the error."""
    config = s.target.repository / s.name / "config.pbtxt"
    config.write_text(config.read_text() + more)
    make_newest(config)
    s.target._loaded.pop(s.name, None)
    return s.target.load(s.name)


def unload(s):
    """Unload the model, and keep its folder for the next load."""
    if s.target.name == "blsnb":
        s.target.server.unload(s.name)
    else:
        request = pb.RepositoryModelUnloadRequest(model_name=s.name)
        s.target.stub.RepositoryModelUnload(request)


def test_tags_of_a_model_are_labels(agree, scene):
    """Each begins with an underscore; the labels are sorted."""
    more = TAGS % ("team", "a\\\\b") + TAGS % ("B", "é") + TAGS % ("", "")

    def case(target):
        with scene(target, "tagged", more) as s:
            s.ask("one").result()
            return settled(s, 1)

    agree(case)


@pytest.mark.parametrize("name", ["a-b", "_a", "a:b", "é"])
def test_ours_of_a_tag_that_is_not_a_label(blsnb, name):
    """On Triton the server ends."""
    more = TAGS % (name, "x")
    config = CONFIG.format(size=0, dims=1, ragged="", notes="", more=more)
    write(blsnb, "tagged", config, ACCOUNT)

    with pytest.raises(ModelLoadError, match=f"metric_tags has the key '{name}'"):
        blsnb.server.load("tagged")


def test_a_load_continues_the_counters(agree, scene):
    """The statistics begin at 0, the metrics page continues."""

    def case(target):
        with scene(target, "counting_on", "", source=FAILING) as s:
            s.ask("one").result()
            s.ask("fails").result()
            before = settled(s, 2)
            failure = load_again(s, 'parameters { key: "a" value { } }')
            after = lines(s)
            s.ask("two").result()
            return [before, failure, after, settled(s, 1)]

    agree(case)


CACHES = ["response_cache { enable: true }", "response_cache { enable: false }"]


@pytest.mark.parametrize(("first", "then"), [CACHES, CACHES[::-1]], ids=["on", "off"])
def test_the_first_load_decides_about_counters_of_the_cache(agree, scene, first, then):
    """A load that changes the setting adds and removes none of them."""

    def case(target):
        with scene(target, f"caching_{first[-4:-2]}", first) as s:
            config = s.target.repository / s.name / "config.pbtxt"
            config.write_text(config.read_text().replace(first, then))
            return [load_again(s), lines(s)]

    agree(case)


def test_a_load_with_other_tags_begins_at_zero(agree, scene):
    """Other labels are other counters."""

    def case(target):
        with scene(target, "retagged", TAGS % ("a", "x")) as s:
            s.ask("one").result()
            settled(s, 1)
            load_again(s, TAGS % ("a", "y"))
            s.ask("two").result()
            return [line for line in settled(s, 1) if '"y"' in line]

    agree(case)


def test_a_load_with_other_tags_keeps_those_of_a_busy_one(agree, scene):
    """Lines of the replaced load stay while it executes a request."""

    def case(target):
        with scene(target, "busy_tags", TAGS % ("a", "x")) as s:
            s.hold()
            s.ask("waits")
            load_again(s, TAGS % ("a", "y"))
            both = lines(s)
            s.go()
            s.over()
            until(lambda: not any('"x"' in x for x in lines(s) if "exec" in x))
            kept = [line for line in lines(s) if "failure" not in line]
            return [both, kept]

    agree(case)


def test_a_load_continues_summaries(agree, disks):
    """The latencies of earlier loads stay in them."""

    def case(target):
        disk = disks()
        disk.put("m")
        with disk.serving(target, metrics={"summary_latencies": "true"}) as server:
            server.load("m")
            server.infer("m")
            until(lambda: _summarised(server) == ["1", "1"])
            disk.put("m", 2)
            seen = [server.load("m"), server.infer("m")]
            until(lambda: _summarised(server) == ["2", "2"])
            return [*seen, _summarised(server)]

    agree(case)


def _summarised(server):
    """Return the numbers of requests in two summaries."""
    names = (
        "nv_inference_request_summary_us_count",
        "nv_inference_queue_summary_us_co",
    )
    page = server.metrics().splitlines()
    return [line.split()[-1] for line in page if line.startswith(names)]


def test_an_unloaded_model_is_counted_until_it_is_idle(agree, scene):
    """A load before that continues its counters, too."""

    def case(target):
        with scene(target, "unloading", "") as s:
            s.hold()
            s.ask("waits")
            unload(s)
            unloading = lines(s)
            load_again(s)
            loaded = lines(s)
            s.go()
            answered = s.over()
            until(lambda: any("success" in x and x[-1] == "2" for x in lines(s)))
            return [unloading, loaded, answered, lines(s)]

    agree(case)


def test_failures_of_a_model_that_is_gone(agree, scene):
    """Triton keeps their lines, and adds those of the next load to them."""

    def case(target):
        with scene(target, "gone", "", source=FAILING) as s:
            s.ask("fails").result()
            settled(s, 1)
            unload(s)
            until(lambda: not any("exec_count" in line for line in lines(s)))
            left = [line for line in lines(s) if "BACKEND" in line]
            load_again(s)
            return [left, [line for line in lines(s) if "BACKEND" in line]]

    def ours(known, seen):
        (line,) = known[0]
        assert line.endswith(" 1")
        assert [[], [line.replace(" 1", " 0")]] == seen

    agree(case, deviates="the failures of a model that is unloaded", ours=ours)
