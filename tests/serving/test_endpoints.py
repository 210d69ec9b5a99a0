"""The ports of a served server, and closing them."""

from __future__ import annotations

import gc
import inspect
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import traceback
import urllib.request
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import stage
import tritonclient.grpc
import tritonclient.http
from cells import CONFIG, DOUBLE, cell
from tritonclient.utils import InferenceServerException
from waiting import until

from blsnb.arguments import is_loopback
from blsnb.errors import ServerClosedError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving import ports
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.endpoints import GRPC, HTTP, Endpoints, serve
from blsnb.serving.grpc.endpoint import GrpcEndpoint
from blsnb.serving.ports import check_port

FREE = {"http": 0, "grpc": 0, "metrics": 0}


@pytest.fixture
def served(server: Server) -> Iterator[Endpoints]:
    """A server with a model, on free ports."""
    server.define("double", DOUBLE, config=CONFIG)
    with serve(server, **FREE) as endpoints:
        yield endpoints


@pytest.fixture
def names() -> Callable[[], set[str]]:
    """Names of the threads of end points."""
    before = set(threading.enumerate())

    def now() -> set[str]:
        found = {
            thread.name for thread in threading.enumerate() if thread not in before
        }
        return {name for name in found if name.startswith(("blsnb http", "blsnb grpc"))}

    return now


def test_grpc_listens_before_http(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that finds the server ready over HTTP may connect to gRPC."""
    opened = []
    original = Endpoints._endpoint

    def endpoint(self: Endpoints, name: str, host: str, port: int) -> object:
        opened.append(name)
        return original(self, name, host, port)

    monkeypatch.setattr(Endpoints, "_endpoint", endpoint)
    with serve(server, **FREE) as endpoints:
        assert ["HTTP", "gRPC", "metrics"] == list(endpoints.addresses)

    assert ["gRPC", "HTTP", "metrics"] == opened


def test_the_ports_are_on_loopback(served: Endpoints) -> None:
    """Another address must be requested."""
    assert ["HTTP", "gRPC", "metrics"] == list(served.addresses)
    assert f"127.0.0.1:{served.ports['gRPC']}" == served.addresses["gRPC"]
    assert f"127.0.0.1:{served.ports['HTTP']}" == served.addresses["HTTP"]


def test_both_protocols_serve_the_same_models(
    served: Endpoints, server: Server
) -> None:
    """The metrics page counts both."""
    x = np.array([1, 2], np.float32)
    answers = []
    for module, name in ((tritonclient.grpc, "gRPC"), (tritonclient.http, "HTTP")):
        with module.InferenceServerClient(served.addresses[name]) as client:
            given = module.InferInput("X", [2], "FP32")
            given.set_data_from_numpy(x)
            answers.append(client.infer("double", [given]).as_numpy("Y").tolist())

    with urllib.request.urlopen(served.addresses["metrics"], timeout=60) as page:
        text = page.read().decode()
    assert [[2, 4], [2, 4]] == answers
    assert 'nv_inference_count{model="double",version="1"} 2' in text


def test_a_model_that_reports_not_ready_has_no_trace_settings(
    served: Endpoints, server: Server
) -> None:
    """Both protocols have the same text."""
    not_ready = "\ndef is_ready(self):\n    return False\n\n"
    source = cell("return [reply(x_of(request))]", methods=not_ready)
    server.define("unready", source, config=CONFIG)
    errors = []
    for module in (tritonclient.http, tritonclient.grpc):
        name = "HTTP" if module is tritonclient.http else "gRPC"
        with module.InferenceServerClient(served.addresses[name]) as client:
            with pytest.raises(InferenceServerException) as failed:
                client.get_trace_settings("unready")
            errors.append(failed.value.message())

    assert ["Request for unknown model : unready"] * 2 == errors


def test_the_snippet_works(served: Endpoints) -> None:
    """Both lines work unchanged."""
    names: dict[str, tritonclient.grpc.InferenceServerClient] = {}

    exec(served.snippet(), names)

    assert 2 == len(served.snippet().splitlines())
    with names["client"] as client:
        assert client.is_server_live()


def test_the_snippet_uses_http_without_grpc(server: Server) -> None:
    """It is empty without either."""
    with serve(server, http=0, grpc=None, metrics=None) as endpoints:
        assert "tritonclient.http" in endpoints.snippet()
    with serve(server, http=None, grpc=None, metrics=0) as endpoints:
        assert "" == endpoints.snippet()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"host": 8000}, "host=8000 is not valid; expected a string"),
        (
            {"access": 1},
            "access=1 is not valid; expected a blsnb.serving.access.Access",
        ),
        ({"options": {}}, "options={} is not valid; expected ServingOptions, or None"),
        ({"unix_sockets": 1}, "unix_sockets=1 is not valid; expected a folder"),
    ],
)
def test_an_argument_of_another_type_is_refused(
    server: Server, given: dict[str, Any], text: str
) -> None:
    """Before a port opens, and where none is to open."""
    with pytest.raises(TypeError) as caught:
        serve(server, http=None, grpc=None, metrics=None, **given)

    assert text == str(caught.value)


@pytest.mark.parametrize("name", ["HTTP", "gRPC", "metrics"])
def test_a_port_in_use_is_named(
    server: Server, name: str, names: Callable[[], set[str]]
) -> None:
    """No other port stays open."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ports = {**FREE, name.lower(): port}

        with pytest.raises(OSError, match=f"{name} cannot be served on port {port}"):
            serve(server, **ports)

    assert set() == names()


def test_no_two_servers_share_a_port(served: Endpoints, server: Server) -> None:
    """Each would get half of the calls; the error says what to do."""
    with pytest.raises(OSError, match=r"in use\. .* that was started before\.$"):
        serve(server, http=None, grpc=served.ports["gRPC"], metrics=None)


def test_grpc_itself_shares_no_port(served: Endpoints, server: Server) -> None:
    """Two servers may start at the same moment."""
    with pytest.raises(OSError, match="gRPC cannot listen"):
        GrpcEndpoint(
            parts_of(server),
            SharedState(parts_of(server)),
            "127.0.0.1",
            served.ports["gRPC"],
        )


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_may_be_of_ipv6(server: Server) -> None:
    """It is shown in brackets, as clients take it."""
    server.define("double", DOUBLE, config=CONFIG)
    with serve(server, **FREE, host="::1") as endpoints:
        over_http = tritonclient.http.InferenceServerClient(endpoints.addresses["HTTP"])
        over_grpc = tritonclient.grpc.InferenceServerClient(endpoints.addresses["gRPC"])
        with over_http, over_grpc:
            assert over_http.is_model_ready("double")
            assert over_grpc.is_model_ready("double")
        with urllib.request.urlopen(endpoints.addresses["metrics"]) as page:
            assert 200 == page.status


def test_several_servers_are_served_side_by_side(
    served: Endpoints, server: Server
) -> None:
    """Each has its own models; closing one leaves the other."""
    with Server() as second:
        second.define("other", DOUBLE, config=CONFIG)
        other = serve(second, **FREE)
        first = tritonclient.grpc.InferenceServerClient(served.addresses["gRPC"])
        last = tritonclient.grpc.InferenceServerClient(other.addresses["gRPC"])
        with first, last:
            ready = [
                (c.is_model_ready("other"), c.is_server_ready()) for c in (first, last)
            ]
            assert [(False, True), (True, True)] == ready
            second.close()
            assert other.closed
            assert first.is_server_ready()


def test_a_port_out_of_range_is_refused(server: Server) -> None:
    """No port is opened."""
    with pytest.raises(ValueError, match="gRPC port 70000 is out of range"):
        serve(server, http=None, grpc=70000, metrics=None)


def test_another_machines_address_is_refused(server: Server) -> None:
    """The error has the system's reason."""
    with (
        pytest.warns(UserWarning, match=r"served on 203\.0\.113\.7"),
        pytest.raises(
            OSError,
            match=r"port 8001 of 203\.0\.113\.7: cannot assign .*"
            r"host must be an address of this machine\.$",
        ),
    ):
        serve(server, http=None, metrics=None, host="203.0.113.7")


def test_other_addresses_give_a_warning(server: Server) -> None:
    """Other machines could run code here."""
    with (
        pytest.warns(UserWarning, match=r"0\.0\.0\.0") as caught,
        serve(server, http=None, grpc=0, metrics=None, host="0.0.0.0"),
    ):
        pass
    assert [
        "models are served on 0.0.0.0: everybody who can reach this address can run "
        "them, and load other code into this process. Omit host to serve them to this "
        "machine only."
    ] == [str(each.message) for each in caught]
    with warnings.catch_warnings(), serve(server, **FREE, host="::1"):
        warnings.simplefilter("error")


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("192.168.1.2", False),
        ("example.org", False),
    ],
)
def test_loopback_addresses(host: str, here: bool) -> None:
    """A name may resolve to any address."""
    assert here is is_loopback(host)


FORKING = """
import os
import blsnb
from blsnb.serving import serve
with blsnb.Server() as server, serve(server, http=None, grpc=0, metrics=None) as ends:
    import tritonclient.grpc
    with tritonclient.grpc.InferenceServerClient(ends.addresses["gRPC"]) as client:
        for _ in range(5):
            assert client.is_server_live()
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
        assert client.is_server_live()
    print("GRPC_ENABLE_FORK_SUPPORT" in os.environ)
"""


def test_a_shell_command_prints_no_notice_of_grpc() -> None:
    """It forks the process that serves."""
    command = [sys.executable, "-W", "ignore", "-c", FORKING]

    ran = subprocess.run(command, capture_output=True, text=True, timeout=50)

    assert ("False\n", "", 0) == (ran.stdout, ran.stderr, ran.returncode)


def test_closing_releases_the_ports(served: Endpoints) -> None:
    """It may be repeated, and the server continues."""
    ports = served.ports
    addresses = ", ".join(f"{name} {each}" for name, each in served.addresses.items())
    assert f"<Endpoints: {addresses}>" == repr(served)

    served.close()
    served.close()

    for name, port in ports.items():
        check_port(name, "127.0.0.1", port)
    assert served.closed
    assert "<Endpoints: closed>" == repr(served)


@pytest.mark.parametrize(
    ("files", "connections"), [(-1, 4096), (0, 4096), (400, 100), (1_000_000, 4096)]
)
def test_connections_leave_files_to_the_rest_of_the_process(
    monkeypatch: pytest.MonkeyPatch, files: int, connections: int
) -> None:
    """The number is limited, even where that of files is not."""
    monkeypatch.setattr(ports.resource, "getrlimit", lambda _: (files, files))

    assert connections == ports.max_connections()


def test_closed_endpoints_are_released(server: Server) -> None:
    """A server may be served repeatedly."""
    endpoints = serve(server, http=None, grpc=None, metrics=0)
    endpoints.close()
    found = weakref.ref(endpoints)
    del endpoints

    gc.collect()

    assert found() is None


def test_ctrl_c_during_close_closes_all_ports(
    served: Endpoints, server: Server, names: Callable[[], set[str]]
) -> None:
    """No port waits for a request any longer, and the request ends."""
    stage.begun, stage.go = threading.Event(), threading.Event()
    waiting = "stage.begun.set()\nstage.go.wait(60)\nreturn [reply(x_of(request))]"
    server.define("waiting", cell(waiting), config=CONFIG)
    ports, errors = served.ports, queue.Queue[Exception]()
    client = tritonclient.grpc.InferenceServerClient(served.addresses["gRPC"])
    given = tritonclient.grpc.InferInput("X", [1], "FP32")
    given.set_data_from_numpy(np.array([7], np.float32))
    client.async_infer("waiting", [given], lambda result, error: errors.put(error))
    assert stage.begun.wait(60)
    pressing = threading.Thread(target=press_in_wait)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        server.close()

    pressing.join()
    stage.go.set()
    assert isinstance(errors.get(timeout=60), InferenceServerException)
    client.close()
    assert until(lambda: names() == set())
    for name, port in ports.items():
        check_port(name, "127.0.0.1", port)


def press_in_wait() -> None:
    """Press Ctrl-C once the main thread waits for requests while it closes."""
    main = threading.main_thread().ident or 0

    def waits() -> bool:
        stack = traceback.extract_stack(sys._current_frames()[main])
        return {"close", "wait"} <= {each.name for each in stack}

    assert until(waits)
    os.kill(os.getpid(), signal.SIGINT)


def test_closing_the_server_closes_its_endpoints(
    server: Server, names: Callable[[], set[str]]
) -> None:
    """Clients can no longer connect."""
    endpoints = serve(server, **FREE)

    server.close()

    assert endpoints.closed
    assert set() == names()


def test_a_closed_server_cannot_be_served(
    server: Server, names: Callable[[], set[str]]
) -> None:
    """No port stays open."""
    server.close()

    with pytest.raises(ServerClosedError):
        serve(server, **FREE)
    assert set() == names()


def test_closing_waits_for_running_requests(server: Server) -> None:
    """It waits up to its timeout; HTTP refuses connections first, as on Triton."""
    stage.begun, stage.go = threading.Event(), threading.Event()
    waiting = "stage.begun.set()\nstage.go.wait(60)\nreturn [reply(x_of(request))]"
    server.define("waiting", cell(waiting), config=CONFIG)
    answers: queue.Queue[list[float]] = queue.Queue()

    with serve(server, http=0, grpc=0, metrics=None) as endpoints:
        client = tritonclient.grpc.InferenceServerClient(endpoints.addresses["gRPC"])
        given = tritonclient.grpc.InferInput("X", [1], "FP32")
        given.set_data_from_numpy(np.array([7], np.float32))
        client.async_infer(
            "waiting",
            [given],
            lambda result, error: answers.put(result.as_numpy("Y").tolist()),
        )
        assert stage.begun.wait(60)
        closing = threading.Thread(target=endpoints.close, args=(60.0,))
        closing.start()
        assert until(lambda: refuses(endpoints.ports["HTTP"]))
        stage.go.set()

        assert [7.0] == answers.get(timeout=60)
        closing.join(60)
    client.close()

    assert endpoints.closed


def refuses(port: int) -> bool:
    """Whether a port accepts no connection."""
    with socket.socket() as client:
        return bool(client.connect_ex(("127.0.0.1", port)))


class Noted:
    """A port that notes how long requests may take when it is closed."""

    host, port, address = "", 0, ""

    def __init__(self) -> None:
        self.given: list[float] = []

    def close(self, timeout_s: float) -> None:
        """Note the timeout."""
        self.given.append(timeout_s)


def test_closing_the_server_gives_requests_its_exit_timeout(server: Server) -> None:
    """Those of clients may take as long as those of a cell."""
    noted = Noted()
    serve(server, http=None, grpc=None, metrics=0)._open[HTTP] = noted
    parts_of(server).lifetime.exit_timeout_s = 90.0

    server.close()

    assert [True] == [60 < each <= 90 for each in noted.given]


def test_all_protocols_share_the_timeout_of_closing(server: Server) -> None:
    """Requests over either protocol end within the same seconds."""
    stage.begun, stage.go = threading.Event(), threading.Event()
    waiting = "stage.begun.set()\nstage.go.wait(60)\nreturn [reply(x_of(request))]"
    server.define("waiting", cell(waiting), config=CONFIG)
    noted = Noted()
    endpoints = serve(server, http=0, grpc=None, metrics=None)
    endpoints._open[GRPC] = noted
    with socket.create_connection(("127.0.0.1", endpoints.ports["HTTP"])) as client:
        body = b'{"inputs":[{"name":"X","datatype":"FP32","shape":[1],"data":[1]}]}'
        head = f"POST /v2/models/waiting/infer HTTP/1.1\r\nContent-Length: {len(body)}"
        client.sendall(head.encode() + b"\r\n\r\n" + body)
        assert stage.begun.wait(60)
        endpoints.close(timeout_s=0.1)
        stage.go.set()

    assert [0.0] == noted.given


def test_closing_does_not_wait_indefinitely(server: Server) -> None:
    """A client that still waits gets the error of a cancelled call."""
    stage.begun, stage.go = threading.Event(), threading.Event()
    waiting = "stage.begun.set()\nstage.go.wait(60)\nreturn [reply(x_of(request))]"
    server.define("waiting", cell(waiting), config=CONFIG)
    failed: list[str] = []
    called = threading.Event()

    def answered(result: object, error: Exception | None) -> None:
        failed.append(str(error))
        called.set()

    endpoints = serve(server, http=None, grpc=0, metrics=None)
    client = tritonclient.grpc.InferenceServerClient(endpoints.addresses["gRPC"])
    given = tritonclient.grpc.InferInput("X", [1], "FP32")
    given.set_data_from_numpy(np.array([7], np.float32))
    client.async_infer("waiting", [given], answered)
    assert stage.begun.wait(60)

    endpoints.close(timeout_s=0.05)

    assert called.wait(60)
    stage.go.set()
    client.close()
    assert "CANCELLED" in failed[0] or "UNAVAILABLE" in failed[0]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_gets_a_response_whatever_is_raised(
    served: Endpoints, server: Server, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    """An exception that would end the thread of its request is an error response."""

    def statistics(*_: object) -> None:
        raise kind("3")

    monkeypatch.setattr(type(parts_of(server).engine.catalog), "statistics", statistics)
    over_http = tritonclient.http.InferenceServerClient(
        served.addresses["HTTP"].removeprefix("http://"), network_timeout=30
    )
    over_grpc = tritonclient.grpc.InferenceServerClient(served.addresses["gRPC"])
    with over_http as client, pytest.raises(InferenceServerException, match="3"):
        client.get_inference_statistics()
    with over_grpc as client, pytest.raises(InferenceServerException, match="3"):
        client.get_inference_statistics(client_timeout=30)


@pytest.mark.parametrize("function", [serve, Server.serve])
def test_the_default_ports_are_those_of_triton(function):
    """On this machine only."""
    defaults = {
        name: each.default
        for name, each in inspect.signature(function).parameters.items()
    }

    assert {"http": 8000, "grpc": 8001, "metrics": 8002, "host": "127.0.0.1"} == {
        name: defaults[name] for name in ("http", "grpc", "metrics", "host")
    }
