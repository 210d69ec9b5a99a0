"""Specification of %triton serve."""

import re
import socket
import stat
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc
from IPython.core.error import UsageError

from blsnb.magics import extension
from blsnb.magics.commands.serve import serve_flags

from ..models import DOUBLE

FREE = "--http 0 --grpc 0 --metrics 0"


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE.replace("--input", "--quiet --input"))
    yield notebook
    notebook.run("%triton serve --stop")


def asked(address, headers=None):
    """Return what a client receives from the model."""
    with tritonclient.grpc.InferenceServerClient(address) as client:
        given = tritonclient.grpc.InferInput("X", [1], "FP32")
        given.set_data_from_numpy(np.array([21], np.float32))
        return client.infer("double", [given], headers=headers).as_numpy("Y").tolist()


def secret_in(text):
    return Path(re.search(r"a file that only you can read: (\S+)", text)[1])


def address_in(text):
    return re.search(r"gRPC: (\S+)", text)[1]


def test_addresses_and_client_code_are_printed(double):
    """The printed lines are those with which a client's script begins."""
    ran = double.run(f"%triton serve {FREE}")

    address = address_in(ran.stdout)
    ports = [re.sub(r":\d+", ":0", line) for line in ran.stdout.splitlines()[:3]]
    assert {
        "HTTP: 127.0.0.1:0",
        "gRPC: 127.0.0.1:0",
        "metrics: http://127.0.0.1:0/metrics",
    } == set(ports)
    assert [
        "",
        "import tritonclient.grpc",
        f'client = tritonclient.grpc.InferenceServerClient("{address}")',
        "",
        "%triton serve --stop ends it.",
    ] == ran.stdout.splitlines()[3:]
    assert [42.0] == asked(address)


def test_a_run_of_a_client_shows_nothing_in_a_cell(double):
    """Runs of network clients are recorded but not displayed."""
    address = address_in(double.run(f"%triton serve {FREE}").stdout)
    double.shell.user_ns.update(asked=asked, address=address)

    ran = double.run("answer = asked(address)")

    assert [] == ran.outputs
    double.run("import blsnb\nmodels = [run.model_name for run in blsnb.server().runs]")
    assert ["double"] == double.shell.user_ns["models"]


def test_a_second_call_prints_the_addresses(double):
    """A second %triton serve prints the addresses and opens no port."""
    first = double.run(f"%triton serve {FREE}").stdout

    assert first == double.run("%triton serve").stdout


def test_other_ports_require_a_stop_first(double):
    """The error says how to stop serving."""
    double.run(f"%triton serve {FREE}")

    ran = double.run("%triton serve --http 0")

    assert isinstance(ran.error, UsageError)
    text = re.sub(r":\d+", ":0", str(ran.error))
    assert (
        "the models are served already: <Endpoints: HTTP 127.0.0.1:0, gRPC 127.0.0.1:0,"
        " metrics http://127.0.0.1:0/metrics>. %triton serve --stop ends that."
    ) == text


def test_stop_releases_the_ports(double):
    """A second --stop reports that nothing is served."""
    address = address_in(double.run(f"%triton serve {FREE}").stdout)

    assert ["The models are no longer served.\n", "Nothing is served.\n"] == [
        double.run("%triton serve --stop").stdout for _ in range(2)
    ]
    with socket.socket() as probe:
        host, port = address.split(":")
        assert probe.connect_ex((host, int(port)))


def test_a_port_in_use_is_named(double):
    """The error names the port, and no other port stays open."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = double.run(f"%triton serve --http {port} --grpc 0 --metrics 0")

    assert isinstance(ran.error, UsageError)
    assert f"HTTP cannot be served on port {port}" in ran.stderr
    assert "Nothing is served" in double.run("%triton serve --stop").stdout


def test_off_omits_a_protocol(double):
    """With the other protocols off only gRPC is served."""
    ran = double.run("%triton serve --http off --grpc 0 --metrics off")

    assert "gRPC: " in ran.stdout
    assert "HTTP: " not in ran.stdout


def test_a_port_is_a_number_or_off():
    """The highest one is valid; 0 is a free one."""
    words = ["--http", "65535", "--grpc", "0", "--metrics", "off"]
    given = serve_flags().parse(words)

    assert (65535, 0, None) == (given.http, given.grpc, given.metrics)


@pytest.mark.parametrize("port", ["x", "-1", "65536"])
def test_an_invalid_port_is_refused(double, port):
    """The error contains the usage."""
    ran = double.run(f"%triton serve --grpc {port}")

    assert isinstance(ran.error, UsageError)
    assert "is not a port" in ran.stderr or "expected one argument" in ran.stderr


def test_unloading_the_extension_ends_it(double):
    """Unloading the extension closes the ports; the server stays open."""
    address = address_in(double.run(f"%triton serve {FREE}").stdout)

    extension.unload_ipython_extension(double.shell)

    with socket.socket() as probe:
        host, port = address.split(":")
        assert probe.connect_ex((host, int(port)))
    extension.load_ipython_extension(double.shell)


def test_the_help_lists_all_options(notebook):
    """The help is that of the parser."""
    text = notebook.run("%triton help serve").stdout

    assert all(f"--{each}" in text for each in ("http", "grpc", "host", "stop"))


def test_a_token_is_required_and_not_saved_with_the_notebook(double):
    """It is in a private file, which the output names; the headers are printed."""
    ran = double.run(f"%triton serve {FREE} --access-token inference")
    path = secret_in(ran.stdout)
    token = path.read_text()
    with pytest.raises(tritonclient.grpc.InferenceServerException) as failed:
        asked(address_in(ran.stdout))
    header = "triton-grpc-protocol-blsnb-token"

    assert f"expecting header '{header}'" in str(failed.value)
    assert f"header over gRPC: {header}: TOKEN\n" in ran.stdout
    assert "header over HTTP: blsnb-token: TOKEN\n" in ran.stdout
    assert [42.0] == asked(address_in(ran.stdout), {header: token})
    assert (32, 0o600, 0o700) == (
        len(token),
        stat.S_IMODE(path.stat().st_mode),
        stat.S_IMODE(path.parent.stat().st_mode),
    )
    assert token not in ran.stdout + str(ran.outputs)


def test_the_file_of_a_token_is_named_again_and_removed_at_the_end(double):
    """A further `%triton serve` repeats the headers without the token."""
    path = secret_in(double.run(f"%triton serve {FREE} --access-token all").stdout)
    again = double.run("%triton serve").stdout

    assert path == secret_in(again)
    assert path.read_text() not in again
    double.run("%triton serve --stop")
    assert not path.parent.exists()


def test_an_invalid_origin_is_refused(double):
    """The error is one line."""
    with pytest.raises(UsageError, match="allow_origin='x' is not an origin"):
        double.shell.run_line_magic("triton", "serve --allow-origin x")
