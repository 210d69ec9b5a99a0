"""Specification of the settings that a client changes over HTTP."""

import json

from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.trace_settings import TraceSetting, TraceSettings
from blsnb.serving.http.messages import HttpRequest
from blsnb.serving.http.settings import tracing


def test_a_level_of_null_is_that_of_the_start(server):
    """For a model it would be that of the server."""
    start = TraceSetting(trace_file="f", trace_level=("TENSORS",))
    settings = TraceSettings(start, lambda setting: None, lambda setting: -1)
    catalog = parts_of(server).engine.catalog
    levels = []
    for level in (["TIMESTAMPS"], None):
        body = json.dumps({"trace_level": level}).encode()
        request = HttpRequest("POST", "/v2/trace/setting", body=body)
        levels.append(json.loads(tracing(catalog, settings, request).body))

    assert [["TIMESTAMPS"], ["TENSORS"]] == [each["trace_level"] for each in levels]
