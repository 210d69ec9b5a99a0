"""Summaries of latencies on the metrics page."""

from __future__ import annotations

import re

import pytest
from waiting import until

from .covering import rows
from .elsewhere import CONFIG, elsewhere, put

X = 'input { name: "X" data_type: TYPE_INT32 dims: [ 1 ] optional: true }'
SETTINGS = {
    "summaries": {"summary_latencies": "true"},
    "their own quantiles": {
        "summary_latencies": "true",
        "summary_quantiles": "0.25:0.1,0.9:0.1,0:0.2,1:0.05",
    },
    "no counters": {"counter_latencies": "false"},
}


def latency_lines(page):
    """Return the lines of a page on latencies, with durations replaced."""
    lines = page.splitlines()
    about = ("nv_inference", "nv_cache_hit_", "nv_cache_miss_")
    found = [line for line in lines if line.startswith(about) and "_count{" not in line]
    found = [re.sub(r" \d+$", " some", line) for line in found if "failure" not in line]
    return sorted(found + [line for line in lines if "_count{" in line])


def settled_page(server, asked):
    """Return the page once the server has counted a number of requests."""
    line = f'nv_inference_request_success{{model="asked",version="1"}} {asked}\n'
    until(lambda: line in server.metrics())
    return server.metrics()


@rows("r5.4/with-metrics-config-summary_latencies-true")
@pytest.mark.parametrize(
    "metrics",
    [
        pytest.param(each, id=name, marks=[pytest.mark.slow] if number else [])
        for number, (name, each) in enumerate(SETTINGS.items())
    ],
)
def test_latencies_are_summed_up(agree, folders, metrics):
    """Families, quantiles and counts; of a cached model no whole requests."""

    def case(target):
        folder = folders()
        for name in ("asked", "cached", "fails"):
            more = "response_cache { enable: true }" if name == "cached" else ""
            put(folder / "models", name, config=f"{CONFIG} {X} {more}")
        model = folder / "models" / "fails" / "1" / "model.py"
        model.write_text(model.read_text().replace("y = ", "raise ValueError; y = "))
        with elsewhere(target, folder, metrics=metrics, cache_bytes=1 << 20) as server:
            for name in ("asked", "cached", "fails"):
                server.load(name)
            for name in ("asked", "asked", "asked", "cached", "cached", "fails"):
                server.infer(name)
            page = settled_page(server, 3)
        return [heads(page), latency_lines(page)]

    agree(case)


def heads(page):
    """Return the families, in their order."""
    lines = [line for line in page.splitlines() if line.startswith("# TYPE")]
    return [line for line in lines if "summary" in line or "nv_inference" in line]
