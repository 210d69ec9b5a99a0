"""Arguments of the wrong type are refused with a sentence, before anything happens."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE

import blsnb
from blsnb import MissingOutputError, RepositoryError, Server
from blsnb.arguments import (
    bytes_of,
    check_callable,
    check_flags,
    check_folders,
    check_mapping,
    check_names,
    check_numbers,
    check_text,
    check_whole,
    did_you_mean,
    is_http_url,
    names_advice,
    path_of,
    several,
    version_of,
    warn_user,
)
from blsnb.recorder.recording import Recording
from blsnb.results.run import Run
from blsnb.serving import serve
from blsnb.serving.access import Access

X = {"X": [1, 2]}
ARRAY = np.array([1, 2])
"""An array has no truth value."""
BYTES_PATH, *_ = os.scandir(b"/")
"""A path of bytes."""
SETTINGS = [
    ("model_repository", 5, "a folder, or a list of folders"),
    ("model_repository", {5: 6}, "a folder, or a list of folders"),
    ("startup_models", 5, 'the name of a model, a list of names, or "*"'),
    ("startup_models", [5], "a list of names"),
    ("model_control_mode", 5, "'none', 'poll' or 'explicit'"),
    ("repository_poll_s", "1", "a number of 0 or more"),
    ("model_config_name", 5, "a string"),
    ("exit_on_error", "no", "True or False"),
    ("exit_on_error", 3.5, "True or False"),
    ("strict_model_config", "no", "True or False"),
    ("triton_release", 24.10, 'a string such as "24.10"'),
    ("trace_level", 2, "'tensors', 'timestamps' or 'off'"),
    ("trace_budget_bytes", "1", "a number of 0 or more"),
    ("trace_budget_bytes", 1.5, "a whole number of 0 or more"),
    ("keep_calls", None, "a number of 0 or more"),
    ("keep_runs", True, "a number of 0 or more"),
    ("hang_notice_s", "1", "a number of 0 or more"),
    ("log_verbose", "1", "a number of 0 or more"),
    ("cache_bytes", "1", "a number of 0 or more"),
    ("rate_limit", 5, "a string"),
    ("rate_limit_resources", 5, "a dict"),
    ("runtime", 5, "'auto', 'numpy', 'cupy', 'simulated', or a runtime of your own"),
    ("metrics_config", 5, "a dict"),
    ("exit_timeout_s", "1", "a number of 0 or more"),
    ("otlp", 5, "a URL, or None"),
    ("otlp_rate", "1", "a number of requests"),
    ("otlp_count", None, "a number of requests"),
]
CALLS = {
    "define name": (lambda s: s.define(5, DOUBLE), "name=5", "a string"),
    "define source": (
        lambda s: s.define("m", 5),
        "source=5",
        "the text of model.py, or None",
    ),
    "define config": (
        lambda s: s.define("m", DOUBLE, config=5),
        "config=5",
        "the text of a config.pbtxt, a ModelConfig, or None",
    ),
    "define version": (
        lambda s: s.define("m", DOUBLE, version="1"),
        "version='1'",
        "a version number, such as 1",
    ),
    "define files": (
        lambda s: s.define("m", DOUBLE, files=["a"]),
        "files=['a']",
        "a dict",
    ),
    "define content": (
        lambda s: s.define("m", DOUBLE, files={"a": 5}),
        "files['a']=5",
        "text, bytes or a pathlib.Path",
    ),
    "load": (lambda s: s.load(None), "name=None", "a string"),
    "load config": (
        lambda s: s.load("double", config=5),
        "config=5",
        "JSON text, a dict, a ModelConfig, or None",
    ),
    "load files": (lambda s: s.load("double", files=5), "files=5", "a dict"),
    "unload": (lambda s: s.unload(5), "name=5", "a string"),
    "unload dependents": (
        lambda s: s.unload("double", unload_dependents="all"),
        "unload_dependents='all'",
        "True or False",
    ),
    "model": (lambda s: s.model(5), "name=5", "a string"),
    "config": (lambda s: s.config(5), "name=5", "a string"),
    "config version": (
        lambda s: s.config("double", version="1"),
        "version='1'",
        "a version number, such as 1",
    ),
    "config_text": (lambda s: s.config_text(5), "name=5", "a string"),
    "watch": (lambda s: s.watch(5), "name=5", "a string"),
    "unwatch": (lambda s: s.unwatch(5), "name=5", "a string"),
    "import": (
        lambda s: s.import_repository(5),
        "path=5",
        "a path: a string or a pathlib.Path",
    ),
    "import names": (
        lambda s: s.import_repository(".", "double"),
        "names='double'",
        "a list of names",
    ),
    "export": (
        lambda s: s.export_repository(None),
        "path=None",
        "a path: a string or a pathlib.Path",
    ),
    "export names": (
        lambda s: s.export_repository("out", [5]),
        "names=[5]",
        "a list of names",
    ),
    "export names of an array": (
        lambda s: s.export_repository("out", np.array(5)),
        "names=5",
        "a list of names",
    ),
    "serve a flag": (
        lambda s: s.serve(http=True),
        "http=True",
        "a port number, such as 8000, or None",
    ),
    "standin replay of an array": (
        lambda s: s.standin("double", replay=np.array(5)),
        "replay=5",
        "a blsnb.Run, or a list of them",
    ),
    "export force": (
        lambda s: s.export_repository("out", force="yes"),
        "force='yes'",
        "True or False",
    ),
    "implied_config run": (
        lambda s: s.model("double").implied_config(5),
        "run=5",
        "a blsnb.Run",
    ),
    "standin": (lambda s: s.standin(5, zeros=True), "name=5", "a string"),
    "standin zeros": (
        lambda s: s.standin("double", zeros="0"),
        "zeros='0'",
        "True or False",
    ),
    "standin random": (
        lambda s: s.standin("double", random="x"),
        "random='x'",
        "a seed, such as 7",
    ),
    "standin replay": (
        lambda s: s.standin("double", replay=[5]),
        "replay=5",
        "a blsnb.Run, or a list of them",
    ),
    "standin one replay": (
        lambda s: s.standin("double", replay=5),
        "replay=5",
        "a blsnb.Run, or a list of them",
    ),
    "standin call": (lambda s: s.standin("double", call=5), "call=5", "a function"),
    "standin remote": (
        lambda s: s.standin("double", remote=5),
        "remote=5",
        'an address such as "grpc://host:8001"',
    ),
    "standing_in": (
        lambda s: s.standing_in(5, zeros=True).__enter__(),
        "name=5",
        "a string",
    ),
    "use_runtime": (
        lambda s: s.use_runtime(5),
        "runtime=5",
        "'auto', 'numpy', 'cupy', 'simulated', or a runtime of your own",
    ),
    "statistics": (
        lambda s: s.statistics(5),
        "name=5",
        "the name of a model, or None for all",
    ),
    "batching": (lambda s: s.batching(5), "name=5", "a string"),
    "bench": (
        lambda s: s.bench("double", X, warm_up_requests="1"),
        "warm_up_requests='1'",
        "a number of 0 or more",
    ),
    "bench concurrency": (
        lambda s: s.bench("double", X, concurrency=None),
        "concurrency=None",
        "a number of clients, or several",
    ),
    "bench duration": (
        lambda s: s.bench("double", X, duration_s="1"),
        "duration_s='1'",
        "a number",
    ),
    "bench requests": (
        lambda s: s.bench("double", X, requests=None),
        "requests=None",
        "a number of 1 or more",
    ),
    "bench trace level": (
        lambda s: s.bench("double", X, trace_level=0),
        "trace_level=0",
        "a string, such as 'off'",
    ),
    "bench progress": (
        lambda s: s.bench("double", X, progress=5),
        "progress=5",
        "a function",
    ),
    "bench rate": (
        lambda s: s.bench("double", X, rate=len),
        f"rate={len!r}",
        "a number of requests per second, or several",
    ),
    "bench rates": (
        lambda s: s.bench("double", X, rate=["50"]),
        "rate='50'",
        "numbers of requests per second",
    ),
    "bench arrivals of texts": (
        lambda s: s.bench("double", X, arrivals=["a"]),
        "arrivals=['a']",
        "a list of seconds",
    ),
    "compare cases of an array": (
        lambda s: s.compare("double", cases=np.array(5)),
        "cases=5",
        "requests such as {'inputs': {'X': [1, 2]}}",
    ),
    "bench arrivals": (
        lambda s: s.bench("double", X, arrivals=5),
        "arrivals=5",
        "a list of seconds",
    ),
    "plan": (
        lambda s: s.plan("double", X, rate="5", p99_ms=5),
        "rate='5'",
        "a number",
    ),
    "plan instances": (
        lambda s: s.plan("double", X, rate=5, p99_ms=5, instances=3),
        "instances=3",
        "numbers by model, such as {'a': [1, 2]}",
    ),
    "plan progress": (
        lambda s: s.plan("double", X, rate=5, p99_ms=5, progress=5),
        "progress=5",
        "a function",
    ),
    "compare": (lambda s: s.compare(5, X), "model_name=5", "a string"),
    "compare inputs": (lambda s: s.compare("double", 5), "inputs=5", "a dict"),
    "compare target": (
        lambda s: s.compare("double", X, target=5),
        "target=5",
        "a string",
    ),
    "compare cases": (
        lambda s: s.compare("double", cases=5),
        "cases=5",
        "a file, or a list of requests",
    ),
    "compare a case": (
        lambda s: s.compare("double", cases=[None]),
        "cases=None",
        "requests such as {'inputs': {'X': [1, 2]}}",
    ),
    "infer profile": (
        lambda s: s.infer("double", X, profile="no"),
        "profile='no'",
        "True or False",
    ),
    "stream profile": (
        lambda s: s.stream("double", X, profile=ARRAY),
        "profile=array([1, 2])",
        "True or False",
    ),
    "compare atol": (
        lambda s: s.compare("double", X, atol="0"),
        "atol='0'",
        "a number of 0 or more",
    ),
    "compare install": (
        lambda s: s.compare("double", X, install="yes"),
        "install='yes'",
        "True or False",
    ),
    "serve": (
        lambda s: s.serve(http="8000"),
        "http='8000'",
        "a port number, such as 8000, or None",
    ),
    "serve grpc": (
        lambda s: s.serve(grpc="8001"),
        "grpc='8001'",
        "a port number, such as 8000, or None",
    ),
    "serve metrics": (
        lambda s: s.serve(metrics=8.5),
        "metrics=8.5",
        "a port number, such as 8000, or None",
    ),
    "serve access": (
        lambda s: s.serve(access="all"),
        "access='all'",
        "a blsnb.serving.access.Access",
    ),
    "serve host": (lambda s: s.serve(host=5), "host=5", "a string"),
    "run.save": (
        lambda s: s.infer("double", X).save(5),
        "path=5",
        "a path: a string or a pathlib.Path",
    ),
    "run.save budget": (
        lambda s: s.infer("double", X).save("x.blsrun", budget_bytes="1"),
        "budget_bytes='1'",
        "a number, or None",
    ),
    "run.export_otlp": (
        lambda s: s.infer("double", X).export_otlp(5),
        "url=5",
        "a string",
    ),
    "run.export_otlp tensors": (
        lambda s: s.infer("double", X).export_otlp("http://localhost", tensors="no"),
        "tensors='no'",
        "True or False",
    ),
    "evaluate executor": (
        lambda s: s.evaluate("double", [X], executor=5),
        "executor=5",
        "a concurrent.futures.Executor",
    ),
    "evaluate server_url": (
        lambda s: s.evaluate("double", [X], server_url=5),
        "server_url=5",
        "'grpc://host:port'",
    ),
    "run.export_trace": (
        lambda s: s.infer("double", X).export_trace("x.json", 5),
        "format=5",
        "a string",
    ),
    "run.compare": (
        lambda s: s.infer("double", X).compare(5),
        "other=5",
        "a blsnb.Run",
    ),
    "run.replay server": (
        lambda s: s.infer("double", X).replay(server=5),
        "server=5",
        "a blsnb.Server",
    ),
    "run.replay debug": (
        lambda s: s.infer("double", X).replay(debug=[1, 2]),
        "debug=[1, 2]",
        "True or False",
    ),
    "run.replay lines": (
        lambda s: s.infer("double", X).replay(lines=ARRAY),
        "lines=array([1, 2])",
        "True or False",
    ),
    **{
        f"plan {name} of an array": (
            lambda s, name=name: s.plan("double", X, rate=1, p99_ms=1, **{name: ARRAY}),
            f"{name}=array([1, 2])",
            expected,
        )
        for name, expected in {
            "instances": "numbers by model, such as {'a': [1, 2]}",
            "delay_us": "numbers by model, such as {'a': [1, 2]}",
            "batch": "numbers by model, such as {'a': [1, 2]}",
            "priorities": "shares by priority, such as {1: 0.2}",
            "computing": "a dict",
        }.items()
    },
    "comparison.save": (
        lambda s: s.infer("double", X).compare(s.infer("double", X)).save(5),
        "path=5",
        "a path: a string or a pathlib.Path",
    ),
}
MODULE = {
    "recording.filter model": (
        lambda: Recording([]).filter(5),
        "model=5",
        "a name or a pattern",
    ),
    "recording.filter request_id": (
        lambda: Recording([]).filter(request_id=5),
        "request_id=5",
        "a string, or None",
    ),
    "recording.filter failed": (
        lambda: Recording([]).filter(failed="yes"),
        "failed='yes'",
        "True, False or None",
    ),
    "recording.filter slower_than_ms": (
        lambda: Recording([]).filter(slower_than_ms="5"),
        "slower_than_ms='5'",
        "milliseconds",
    ),
    "allow_origin": (
        lambda: Access(allow_origin="http://localhost"),
        "allow_origin='http://localhost'",
        "a list of names",
    ),
    "allow_host": (
        lambda: Access(allow_host=None),
        "allow_host=None",
        "a list of names",
    ),
    "load_run": (
        lambda: blsnb.load_run(5),
        "path=5",
        "a path: a string or a pathlib.Path",
    ),
    "load_run limit": (
        lambda: blsnb.load_run("x.blsrun", limit_bytes="1"),
        "limit_bytes='1'",
        "a number, or None",
    ),
    "load_trace": (
        lambda: blsnb.load_trace(5),
        "path=5",
        "a path: a string or a pathlib.Path",
    ),
    "load_trace of bytes": (
        lambda: blsnb.load_trace(BYTES_PATH),
        f"path={BYTES_PATH!r}",
        "a path: a string or a pathlib.Path",
    ),
    "serve": (lambda: serve(5), "server=5", "a blsnb.Server"),
}
PATHS = {
    "load_run": lambda s, run, path: blsnb.load_run(path),
    "load_trace": lambda s, run, path: blsnb.load_trace(path),
    "load_recording": lambda s, run, path: blsnb.load_recording(path),
    "run.save": lambda s, run, path: run.save(f"{path}.html"),
    "run.export_trace": lambda s, run, path: run.export_trace(path),
    "run.profile.save": lambda s, run, path: run.profile.save(path),
    "comparison.save": lambda s, run, path: run.compare(run).save(f"{path}.html"),
    "evaluate": lambda s, run, path: s.evaluate("double", f"{path}.npz"),
    "evaluate a folder": lambda s, run, path: s.evaluate("double", (path, np.load)),
    "evaluate resume": lambda s, run, path: s.evaluate("double", [X], resume=path),
    "import": lambda s, run, path: s.import_repository(path),
    "export": lambda s, run, path: s.export_repository(path),
    "model_repository": lambda s, run, path: Server(model_repository=path),
}
REQUESTS = {
    "model_name": (5, {}),
    "inputs": ("double", 3),
    "outputs": ("double", X, {"outputs": "Y"}),
    "outputs of no list": ("double", X, {"outputs": 5}),
    "outputs of no names": ("double", X, {"outputs": [None]}),
    "outputs of lists": ("double", X, {"outputs": [["Y"]]}),
    "version": ("double", X, {"version": "1"}),
    "parameters": ("double", X, {"parameters": {"a": [1]}}),
    "parameters of no dict": ("double", X, {"parameters": 5}),
    "parameters of no names": ("double", X, {"parameters": {5: 1}}),
    "parameters of no int64": ("double", X, {"parameters": {"a": 2**63}}),
    "parameters of no text": ("double", X, {"parameters": {"a": "\ud800"}}),
    "parameters of no name": ("double", X, {"parameters": {"\ud800": 1}}),
    "request_id": ("double", X, {"request_id": 5}),
    "request_id of no text": ("double", X, {"request_id": "\ud800"}),
    "correlation_id of no text": ("double", X, {"correlation_id": "\ud800"}),
    "correlation_id": ("double", X, {"correlation_id": 1.5}),
    "client_timeout_s": ("double", X, {"client_timeout_s": "1"}),
    "client_timeout_s of no float": ("double", X, {"client_timeout_s": 10**400}),
    "client_timeout_s of an array": ("double", X, {"client_timeout_s": ARRAY}),
}


@pytest.fixture
def double(server: Server) -> Iterator[Server]:
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    yield server
    assert "READY" == server.model("double").state


def refusal(what: str, expected: str) -> str:
    """Return a pattern of the error for an argument."""
    return f"^{re.escape(f'{what} is not valid; expected {expected}')}$"


@pytest.mark.parametrize(("name", "value", "expected"), SETTINGS)
def test_a_setting_of_the_wrong_type_is_refused(name, value, expected):
    """The error has the name, the value, and what was expected."""
    with pytest.raises(TypeError, match=refusal(f"{name}={value!r}", expected)):
        Server(**{name: value})


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_of_the_wrong_type_is_refused(double, name):
    """Every method of a server, and of the values it returns, checks types."""
    call, what, expected = CALLS[name]

    with pytest.raises(TypeError, match=refusal(what, expected)):
        call(double)


@pytest.mark.parametrize("name", MODULE)
def test_a_function_of_the_package_refuses_the_wrong_type(name):
    """Functions check types like the methods of a server."""
    call, what, expected = MODULE[name]

    with pytest.raises(TypeError, match=refusal(what, expected)):
        call()


@pytest.mark.parametrize("path", ["~no such user/x", "a\0b", "a\ud800b"])
@pytest.mark.parametrize("name", PATHS)
def test_a_path_that_no_file_can_have_is_refused(double, tmp_path, name, path):
    """The error names the path, and nothing is written."""
    run = double.infer("double", X, profile=True)
    found = sorted(os.listdir())

    with pytest.raises((OSError, RepositoryError)) as refused:
        PATHS[name](double, run, path)

    assert repr(path)[1:-1] in str(refused.value)
    assert found == sorted(os.listdir())


def test_a_link_in_a_circle_is_no_folder_to_export_to(double, tmp_path):
    """It is refused like a file."""
    (tmp_path / "circle").symlink_to(tmp_path / "circle")

    with pytest.raises(RepositoryError, match="circle"):
        double.export_repository(tmp_path / "circle")


@pytest.mark.parametrize("argument", REQUESTS)
@pytest.mark.parametrize("method", ["infer", "stream", "async_infer", "bench"])
def test_a_request_of_the_wrong_type_is_refused(double, method, argument):
    """The same request is refused by each method that makes requests."""
    model_name, inputs, *more = REQUESTS[argument]
    options = more[0] if more else {}

    def request():
        return asyncio.run(getattr(double, method)(model_name, inputs, **options))

    with pytest.raises(TypeError, match=argument.split()[0].rstrip("s")):
        request()


@pytest.mark.parametrize("name", ["hang_notice_s", "trace_budget_bytes", "keep_runs"])
def test_a_number_that_no_float_holds_is_too_large(name):
    """Infinity is a number."""
    with pytest.raises(ValueError, match=rf"^{name}=10+\.\.\.0+ is too large$"):
        Server(**{name: 10**400})


def test_an_array_of_names_is_a_list_of_names(double, tmp_path):
    """Such as a column of a table."""
    names = np.array(["double", "double"])
    double.export_repository(tmp_path / "out", names)
    with Server() as other:
        found = other.import_repository(tmp_path / "out", names)

    assert ["double"] == [each.name for each in found]


def test_a_rate_that_no_float_holds_is_out_of_range(double):
    """Like any other rate above the limit."""
    with pytest.raises(ValueError, match=r"^rate=10+ is not valid; expected requests"):
        double.bench("double", X, rate=10**400)


@pytest.mark.parametrize("name", [5, None, ("Y",)])
def test_an_output_of_another_type_is_missing(double, name):
    """The error names the outputs, as for a wrong name."""
    with pytest.raises(MissingOutputError, match=r"the response has Y$"):
        double.infer("double", X)[name]


def test_an_array_is_no_static_picture():
    """It has no truth value."""
    with pytest.raises(ValueError, match=r"^static=array"):
        blsnb.options.static = ARRAY


def test_numbers_of_other_types_are_numbers(server):
    """A float that is whole is a number of bytes."""
    with Server(trace_budget_bytes=1e6, keep_runs=3.0, exit_on_error=1) as other:
        other.define("double", DOUBLE, config=CONFIG)
        runs = [other.infer("double", X) for _ in range(4)]

        assert runs[1:] == other.runs
        assert isinstance(other.runs[0], Run)


@pytest.mark.parametrize("method", ["infer", "stream", "async_infer", "bench"])
def test_an_unknown_option_is_refused_by_the_name_of_the_method(double, method):
    """The error lists the method's options."""

    def request():
        return asyncio.run(getattr(double, method)("double", X, oops=1))

    with pytest.raises(
        TypeError, match=rf"^{method}\(\) has no option 'oops'; its.*ou"
    ):
        request()


@pytest.mark.parametrize("method", ["infer", "stream", "async_infer"])
def test_a_misspelt_profile_is_recognised(double, method):
    """The method takes it beside the options of a request."""

    def request():
        return asyncio.run(getattr(double, method)("double", X, profil=True))

    with pytest.raises(TypeError, match=r"Did you mean 'profile'\?$"):
        request()


@pytest.mark.parametrize(
    "function", [Server.infer, Server.stream, Server.async_infer, Server.bench]
)
def test_the_options_of_a_request_are_in_the_signature(function):
    """Editors can complete them."""
    names = set(inspect.signature(function).parameters)

    assert {"outputs", "parameters", "timeout_us", "client_timeout_s"} <= names
    assert "options" not in names


CHECKED = [
    (lambda: check_flags(n=2), "n=2", "True or False"),
    (lambda: check_flags(n=None), "n=None", "True or False"),
    (lambda: check_numbers(2, n=1.5), "n=1.5", "2 or more"),
    (lambda: check_numbers(2, n=float("nan")), "n=nan", "2 or more"),
    (lambda: check_numbers(n=-1), "n=-1", "0 or more"),
    (lambda: check_numbers(2, n=True), "n=True", "a number of 2 or more"),
    (lambda: check_numbers(2, n="3"), "n='3'", "a number of 2 or more"),
    (lambda: check_whole(3, n=3.5), "n=3.5", "a whole number of 3 or more"),
    (lambda: check_whole(3, n=2), "n=2", "3 or more"),
    (lambda: bytes_of(n=True), "n=True", "a number, or None"),
    (lambda: bytes_of(n=1.5), "n=1.5", "a number, or None"),
    (lambda: version_of(True), "version=True", "a version number, such as 1"),
    (lambda: version_of(1.0), "version=1.0", "a version number, such as 1"),
    (lambda: check_names(n="ab"), "n='ab'", "a list of names"),
    (lambda: check_names(n=b"ab"), "n=b'ab'", "a list of names"),
    (lambda: check_names(n=["a", 5]), "n=['a', 5]", "a list of names"),
    (lambda: check_folders(n=b"a"), "n=b'a'", "a folder, or a list of folders"),
    (lambda: check_folders(n=["a", 5]), "n=['a', 5]", "a folder, or a list of folders"),
    (lambda: check_mapping(n=[]), "n=[]", "a dict"),
    (lambda: check_callable(n=5), "n=5", "a function"),
    (lambda: check_text(n=5), "n=5", "a string"),
]


@pytest.mark.parametrize(("check", "found", "expected"), CHECKED)
def test_a_check_names_what_was_found_and_expected(check, found, expected):
    """A number below a minimum has a valid type."""
    with pytest.raises((TypeError, ValueError)) as refused:
        check()
    assert f"{found} is not valid; expected {expected}" == str(refused.value)
    is_type = not expected[0].isdigit()
    assert (TypeError if is_type else ValueError) is refused.type


def test_what_a_check_expects_passes_it():
    """None is a default, and numbers of NumPy are numbers."""
    check_flags(a=0, b=True, c=np.True_, d=1.0)
    check_numbers(2, a=2, b=2.5, c=np.float32(3))
    check_numbers(a=0)
    check_whole(3, a=3, b=1e9)
    check_names(a=None, b=["a"], c=np.array(["a"]), d=())
    check_folders(a=None, b="a", c=Path(), d=["a", Path()])
    check_mapping(a=None, b={})
    check_callable(a=None, b=len)

    assert (None, 3, 4_000_000_000) == (
        bytes_of(n=None),
        bytes_of(n=3),
        bytes_of(n=4e9),
    )
    assert (-1, 3) == (version_of(-1), version_of(np.int64(3)))
    assert ([3], [1, 2.5]) == (
        several(np.int64(3)),
        several(iter([1, np.float64(2.5)])),
    )
    assert [int, float] == [type(each) for each in several([np.int64(1), 2.5])]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("~no such user/x", "[Errno 2] no such user: '~no such user/x'"),
        ("a\0b", "[Errno 22] no file can have this path: 'a\\x00b'"),
    ],
)
def test_a_path_that_no_file_can_have_has_the_reason(path, text):
    """It is an error of the system."""
    with pytest.raises(OSError, match=r".") as refused:
        path_of(path=path)
    assert text == str(refused.value)
    assert Path.home() / "x" == path_of(path="~/x")


def test_a_similar_name_is_found_in_any_case():
    """A name is not similar to itself."""
    assert "Did you mean 'IMAGE'?" == did_you_mean("imag", ["X", "IMAGE"])
    assert ["", ""] == [did_you_mean("a", ["a"]), did_you_mean("a", ["xyz"])]
    assert "Did you mean 'X'? Its inputs are: X, Y." == (
        names_advice("x", "inputs", ["X", "Y"])
    )
    assert "Its inputs are: X." == names_advice("other", "inputs", ["X"])


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("http://a", True),
        ("https://a:1/v1", True),
        ("http://[::1]:4318", True),
        ("ftp://a", False),
        ("a:4318", False),
        ("http://", False),
        ("http://a:0", False),
        ("http://a:x", False),
        ("http://[", False),
    ],
)
def test_a_url_of_http_has_a_host(url, is_one):
    """Clients cannot connect to port 0."""
    assert is_one is is_http_url(url)


def test_a_warning_shows_the_line_of_the_user():
    """That is the line which called the package, however deep it warns."""
    user = {"__name__": "notebook"}
    inner = {"__name__": "blsnb.inner", "warn_user": warn_user}
    exec(compile("def warn():\n    warn_user('text')", "inner.py", "exec"), inner)
    exec(compile("def outer(warn):\n    warn()", "outer.py", "exec"), inner)
    code = compile("\n\nouter(warn)", "user.py", "exec")
    with pytest.warns(UserWarning, match="^text$") as caught:
        exec(code, user | {name: inner[name] for name in ("outer", "warn")})

    assert [("user.py", 3)] == [(each.filename, each.lineno) for each in caught]
