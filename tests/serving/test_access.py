"""Access control as pure decisions: pages, host names, restricted APIs."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from blsnb.engine.request.validation import RequestError
from blsnb.serving.access import (
    CATEGORIES,
    GRPC_PREFIX,
    Access,
    Restriction,
    parse_restriction,
    restrict,
    token_restrictions,
)
from blsnb.serving.ports import unix_host

HERE = {"Host": "127.0.0.1:8000"}
NOTEBOOK = "http://localhost:8888"
LOOPBACK, ANY = "127.0.0.1", "0.0.0.0"


@pytest.mark.parametrize(
    ("bound", "headers"),
    [
        (LOOPBACK, {}),
        (LOOPBACK, HERE),
        (LOOPBACK, {"Host": "localhost:8000"}),
        (LOOPBACK, {"Host": "LocalHost"}),
        (LOOPBACK, {"Host": "127.8.9.10:1"}),
        (LOOPBACK, {"Host": "[::1]:8000"}),
        (ANY, {"Host": "10.0.0.7:8000"}),
        (ANY, {"Host": "localhost:8000"}),
        ("triton", {"Host": "triton:8000"}),
        (LOOPBACK, {**HERE, "Origin": "http://127.0.0.1:8000"}),
        (ANY, {"Host": "10.0.0.7:8000", "Origin": "http://10.0.0.7:8000"}),
        (LOOPBACK, {**HERE, "Sec-Fetch-Site": "same-origin"}),
        (LOOPBACK, {**HERE, "Sec-Fetch-Site": "none"}),
        ("unix:/run/http.sock", {"Host": "anything"}),
    ],
)
def test_clients_and_own_pages_are_accepted(
    bound: str, headers: dict[str, str]
) -> None:
    """Clients that are not browsers send neither Origin nor Sec-Fetch-Site."""
    assert "" == Access().refusal(headers, bound)


@pytest.mark.parametrize(
    ("bound", "headers"),
    [
        (LOOPBACK, {"Host": "evil.example:8000"}),
        (LOOPBACK, {"Host": "10.0.0.7:8000"}),
        (LOOPBACK, {"Host": "localhost.evil.example"}),
        (LOOPBACK, {"Host": "lab.localhost"}),
        (LOOPBACK, {"Host": ""}),
        (LOOPBACK, {"Host": "[broken"}),
        (ANY, {"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}),
        (LOOPBACK, {**HERE, "Origin": "http://localhost:8888"}),
        (LOOPBACK, {**HERE, "Origin": "http://127.0.0.1:8001"}),
        (LOOPBACK, {**HERE, "Origin": "https://127.0.0.1:8000"}),
        (LOOPBACK, {**HERE, "Origin": "null"}),
        (LOOPBACK, {**HERE, "Origin": ""}),
        (LOOPBACK, {**HERE, "Sec-Fetch-Site": "cross-site"}),
        (LOOPBACK, {**HERE, "Sec-Fetch-Site": "same-site"}),
    ],
)
def test_foreign_pages_and_rebound_names_are_refused(
    bound: str, headers: dict[str, str]
) -> None:
    """Another port of this machine is another origin; a rebound name is no address."""
    assert "" != Access().refusal(headers, bound)


def test_an_allowed_origin_and_host_are_accepted() -> None:
    """The browser sends Sec-Fetch-Site for an allowed page, too."""
    access = Access(allow_origin=(NOTEBOOK,), allow_host=("triton",))
    page = {"Origin": NOTEBOOK, "Sec-Fetch-Site": "same-site"}

    assert "" == access.refusal({"Host": "triton:8000"}, LOOPBACK)
    assert "" == access.refusal({**HERE, **page}, LOOPBACK)
    assert "" != access.refusal({**HERE, "Sec-Fetch-Site": "same-site"}, LOOPBACK)
    assert "" != access.refusal({"Host": "evil.example", **page}, LOOPBACK)
    assert () == access.page_headers({"Origin": "http://localhost:8889"})
    asked = {"Origin": NOTEBOOK.upper(), "Access-Control-Request-Headers": "x-a"}
    assert (
        ("Access-Control-Allow-Origin", NOTEBOOK.upper()),
        ("Access-Control-Allow-Methods", "GET, POST"),
        ("Access-Control-Allow-Headers", "x-a"),
        ("Access-Control-Expose-Headers", "Inference-Header-Content-Length"),
        ("Vary", "Origin"),
    ) == access.page_headers(asked)
    assert ("Access-Control-Allow-Headers", "") in access.page_headers(page)


def test_a_refusal_shows_the_value_and_the_option() -> None:
    """A long value is cut."""
    host = Access().refusal({"Host": "evil.example"}, LOOPBACK)
    elsewhere = Access().refusal({"Host": "evil.example"}, ANY)
    page = Access().refusal({**HERE, "Origin": f"http://{'e' * 94}"}, LOOPBACK)
    fitting = Access().refusal({**HERE, "Origin": f"http://{'e' * 93}"}, LOOPBACK)
    foreign = Access().refusal({**HERE, "Sec-Fetch-Site": "Cross-Site"}, LOOPBACK)

    assert (
        "Host 'evil.example' is not this server; expected localhost, 127.0.0.1 or "
        "[::1], or a name allowed with --allow-host"
    ) == host
    assert (
        "Host 'evil.example' is not this server; expected localhost, 127.0.0.1 or "
        "[::1], an IP address, or a name allowed with --allow-host"
    ) == elsewhere
    advice = (
        "may not use this server: loading a model runs code in it; allow the page with "
        "--allow-origin"
    )
    assert f"a web page of 'http://{'e' * 93}…' {advice}" == page
    assert f"a web page of 'http://{'e' * 93}' {advice}" == fitting
    assert (
        "a web page of another origin may not use this server; to open the address in "
        "a browser, type it into the address bar"
    ) == foreign


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "localhost:8888", "http://h/path", "http://h:0", "//h", "http://["],
)
def test_what_is_not_an_origin_is_not_accepted(origin: str) -> None:
    """It could never match."""
    with pytest.raises(
        ValueError,
        match=r"is not an origin; expected scheme, host and port, such "
        r"as 'http://localhost:8888'$",
    ):
        Access(allow_origin=(origin,))


@pytest.mark.parametrize("host", ["", "triton:8000", "http://triton", "a@b"])
def test_what_is_not_a_host_name_is_not_accepted(host: str) -> None:
    """A port is not part of it."""
    with pytest.raises(
        ValueError,
        match=r"is not a host name; expected a name without a port, "
        r"such as 'triton'$",
    ):
        Access(allow_host=(host,))


def test_files_are_loaded_only_when_they_are_allowed() -> None:
    """Their code runs in this process."""
    Access().check_load({})
    Access(allow_load_files=True).check_load({"file:1/model.py": b""})
    with pytest.raises(RequestError) as caught:
        Access().check_load({"file:1/model.py": b""})
    assert (
        "UNAVAILABLE",
        "a load request with files runs their code in this process, and this server "
        "was started without --allow-load-files",
    ) == (caught.value.code, caught.value.message)


@pytest.mark.parametrize(
    "config",
    [
        {"default_model_filename": "../../../evil.py"},
        {"defaultModelFilename": "/tmp/evil.py"},
        {"cc_model_filenames": {"8.0": "../evil.py"}},
    ],
)
def test_a_configuration_cannot_name_a_file_elsewhere(config: object) -> None:
    """Any user of the machine can write one, and its code would run here."""
    with pytest.raises(RequestError) as caught:
        Access().check_load({}, json.dumps(config))
    assert (
        "UNAVAILABLE",
        "a load request whose configuration names a file elsewhere runs its code in "
        "this process, and this server was started without --allow-load-files",
    ) == (caught.value.code, caught.value.message)
    Access(allow_load_files=True).check_load({}, json.dumps(config))
    Access().check_load({}, json.dumps({"default_model_filename": "sub/model.py"}))
    Access().check_load({}, "malformed")


def test_a_restriction_applies_to_each_category() -> None:
    """The key of gRPC has Triton's prefix."""
    parsed = parse_restriction("--grpc-restricted-protocol", "health,trace:k=v=w")
    found = restrict([parsed], "protocol", GRPC_PREFIX)

    expected = Restriction("triton-grpc-protocol-k", "v=w")
    assert {"health": expected, "trace": expected} == found
    assert [True, False, False, False] == [
        expected.admits(value) for value in ("v=w", "V=W", "", None)
    ]


@pytest.mark.parametrize("text", ["model-repository,k=v", "health", ":k=v", "a:=v"])
def test_a_malformed_restriction_has_triton_s_text(text: str) -> None:
    """The server prints it like this."""
    with pytest.raises(ValueError, match="option format") as failed:
        parse_restriction("--http-restricted-api", text)

    assert (
        "--http-restricted-api option format is '<config name>:<setting>=<value>'. "
        f"Got {text}"
    ) == str(failed.value)


@pytest.mark.parametrize(
    ("restrictions", "text"),
    [
        ([("foo", "k", "v")], "unknown restricted api 'foo' "),
        (
            [("health", "k", "v"), ("trace,health", "k", "v")],
            "restricted api 'health' can not be specified in multiple config groups",
        ),
    ],
)
def test_an_invalid_category_has_triton_s_text(
    restrictions: list[tuple[str, str, str]], text: str
) -> None:
    """The server prints it like this."""
    with pytest.raises(ValueError, match="restricted api") as failed:
        restrict(restrictions, "api")

    assert text == str(failed.value)


def test_a_token_is_random_and_covers_all_categories() -> None:
    """Named categories can be selected."""
    (names, _, value), token = token_restrictions("all")

    assert ",".join(CATEGORIES) == names
    assert value == token != token_restrictions("all")[1]
    assert len(token) >= 32
    assert "health" == token_restrictions("health")[0][0]


def test_unix_sockets_are_in_a_folder_of_this_user(tmp_path: Path) -> None:
    """A missing one is made; one that others can enter is refused."""
    host = unix_host(tmp_path / "s", "http")
    assert f"unix:{tmp_path}/s/http.sock" == host
    assert 0o700 == stat.S_IMODE((tmp_path / "s").stat().st_mode)

    (tmp_path / "s").chmod(0o755)
    with pytest.raises(PermissionError, match="has mode 0755"):
        unix_host(tmp_path / "s", "http")
    with pytest.raises(OSError, match="longer than 107 bytes"):
        unix_host(tmp_path / ("s" * 100), "http")
