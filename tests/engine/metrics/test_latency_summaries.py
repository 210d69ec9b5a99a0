"""Quantiles of latencies, and the setting that enables them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cells import CONFIG, cell

from blsnb import Server
from blsnb.engine.metrics.config import MetricsConfig, parse_metrics_config
from blsnb.engine.metrics.latency_summaries import Summary

US = 1000
MINUTE_NS = 60_000_000_000


def test_quantiles_are_of_the_last_minute():
    """Count and sum are totals."""
    summary = Summary()
    summary.add(0, 7 * US)
    for number in range(1, 11):
        summary.add(1, number * US + 999)

    assert (11, 62) == (summary.count, summary.sum_us)
    wanted = (0.0, 0.5, 0.9, 1.0)
    assert dict(zip(wanted, (1, 5, 9, 10), strict=True)) == summary.quantiles(
        wanted, MINUTE_NS
    )
    assert {0.9: 8} == summary.quantiles((0.9,), MINUTE_NS - 1)


def test_without_anything_lately_there_are_none():
    """Without recent requests Triton writes Nan."""
    summary = Summary()
    summary.add(0, US)

    assert math.isnan(summary.quantiles((0.5,), MINUTE_NS)[0.5])


def test_the_latest_4096_are_kept():
    """All are counted."""
    summary = Summary()
    for number in range(4097):
        summary.add(number, number * US)

    assert 4097 == summary.count
    assert {0.0: 1} == summary.quantiles((0.0,), 4097)


QUANTILES = (
    "metrics_config['summary_quantiles']={!r} is not valid; expected quantiles between "
    "0 and 1 with errors, such as '0.5:0.05,0.9:0.01'"
)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"latencies": True},
            "metrics_config['latencies'] is unknown; expected 'counter_latencies', "
            "'summary_latencies' and 'summary_quantiles'",
        ),
        (
            {"summary_latencies": "Maybe"},
            "metrics_config['summary_latencies']='maybe' is not valid; expected true "
            "or false",
        ),
        ({"summary_quantiles": "0.5"}, QUANTILES.format("0.5")),
        ({"summary_quantiles": "1.5:0.1"}, QUANTILES.format("1.5:0.1")),
        ({"summary_quantiles": "0:0,-0.1:0"}, QUANTILES.format("0:0,-0.1:0")),
        ({"summary_quantiles": ""}, QUANTILES.format("")),
    ],
)
def test_an_invalid_setting_is_refused(given, text):
    """The error names what is expected."""
    with pytest.raises(ValueError, match="metrics_config") as caught:
        Server(metrics_config=given)

    assert text == str(caught.value)


def test_settings_are_spelled_as_on_tritons_command_line():
    """Strings and booleans mean the same."""
    given = {"summary_latencies": "true", "summary_quantiles": "0.25:0.1,1:0"}

    assert MetricsConfig(True, (0.25, 1.0)) == parse_metrics_config(given)
    assert MetricsConfig() == parse_metrics_config({"summary_latencies": False})


def test_there_need_be_no_counters_of_latencies():
    """Execution counters then stay at 0, as on Triton."""
    model = cell("return [reply(x_of(request))]")
    with Server(metrics_config={"counter_latencies": "false"}) as server:
        server.define("m", model, config=CONFIG)
        server.infer("m", {"X": np.zeros(1, np.float32)})
        page = server.metrics()

    assert "duration_us" not in page
    labels = '{model="m",version="1"}'
    assert f"nv_inference_request_success{labels} 1" in page
    assert f"nv_inference_count{labels} 0" in page
    assert f"nv_inference_exec_count{labels} 0" in page


def test_a_reload_continues_the_summaries():
    """They end with an unload; without the setting the page lacks them."""
    model = cell("return [reply(x_of(request))]")
    count = 'nv_inference_queue_summary_us_count{model="m",version="1"}'
    with Server(metrics_config={"summary_latencies": True}) as server:
        server.define("m", model, config=CONFIG)
        server.infer("m", {"X": np.zeros(1, np.float32)})
        assert f"{count} 1" in server.metrics()
        server.define("m", model, config=CONFIG)
        assert f"{count} 1" in server.metrics()
        server.unload("m")
        server.load("m")
        assert f"{count} 0" in server.metrics()
    with Server() as server:
        server.define("m", model, config=CONFIG)
        assert "summary" not in server.metrics()
