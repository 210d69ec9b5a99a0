"""HttpSettings: what ``…/trace/setting`` and ``/v2/logging`` answer."""

from __future__ import annotations

from blsnb.serving.core.log_settings import SWITCHES, LogSettings
from blsnb.serving.core.trace_settings import (
    CLEARED,
    PARSERS,
    Cleared,
    TraceChange,
    TraceSettings,
    parse_levels,
    refuse_file,
)
from blsnb.serving.http import json_values
from blsnb.serving.http.answer import (
    HttpAnswer,
    HttpRequest,
    json_answer,
    not_allowed,
)
from blsnb.serving.http.json_body import Json, parse

_VERBS = ("GET", "POST")


def trace(settings: TraceSettings, request: HttpRequest, model: str) -> HttpAnswer:
    """Tell how the server, or a model, is traced, and change it on POST.

    Raises
    ------
    RequestError
        It cannot be; the text is Triton's.

    References
    ----------
    server: src/http_server.cc, HandleTrace
    """
    if request.method not in _VERBS:
        return not_allowed()
    if request.method == "POST":
        settings.update(_change(parse(request.body)), model)
    rows = settings.get(model).rows()
    # Only the level is a list here.
    texts = {name: each[0] for name, each in rows.items()}
    return json_answer({**texts, "trace_level": rows["trace_level"]})


def _change(document: Json) -> TraceChange:
    if json_values.has(document, "trace_file"):
        refuse_file()
    levels = _levels(document)
    numbers = {name: _number(document, name) for name in PARSERS}
    return TraceChange(
        levels,
        numbers["trace_rate"],
        numbers["trace_count"],
        numbers["log_frequency"],
    )


def _levels(document: Json) -> tuple[str, ...] | Cleared | None:
    if not json_values.has(document, "trace_level"):
        return None
    given = document["trace_level"]
    if given is None:
        return CLEARED
    return parse_levels(
        [json_values.as_string(each) for each in json_values.as_array(given)]
    )


def _number(document: Json, name: str) -> int | Cleared | None:
    if not json_values.has(document, name):
        return None
    if document[name] is None:
        return CLEARED
    return PARSERS[name](json_values.as_string(document[name]))


def logging(settings: LogSettings, request: HttpRequest) -> HttpAnswer:
    """Tell what of the log is shown, and change it on POST.

    Raises
    ------
    RequestError
        It cannot be; the text is Triton's. What came before stays changed.

    References
    ----------
    server: src/http_server.cc, HandleLogging
    """
    if request.method not in _VERBS:
        return not_allowed()
    if request.method == "POST":
        _set(settings, parse(request.body))
    return json_answer(settings.get())


def _set(settings: LogSettings, document: Json) -> None:
    if json_values.find(document, "log_file") is not None:
        settings.refuse_file()
    for name in SWITCHES:
        on = json_values.find(document, name)
        if on is not None:
            settings.switch(name, json_values.as_boolean(on))
    level = json_values.find(document, "log_verbose_level")
    if level is not None:
        settings.set_verbose_level(json_values.as_unsigned(level))
    form = json_values.find(document, "log_format")
    if form is not None:
        settings.set_format(json_values.as_string(form))
