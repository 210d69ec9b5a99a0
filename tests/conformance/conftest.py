"""One server of each kind for all cases, and the rule by which they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .blsnb_target import AT_THE_END_POINT, BlsnbTarget
from .reference import Case, Golden, Reference, plain, recording, required
from .targets import Target
from .triton_env import installed
from .triton_target import TritonTarget

TARGETS = [pytest.param("triton", marks=pytest.mark.triton_server), "blsnb"]


@pytest.fixture(scope="session")
def triton() -> Iterator[TritonTarget | None]:
    """One real server for the whole session, or None where none is installed."""
    env = installed()
    if env is None:
        if required() or recording():
            pytest.fail("run tests/conformance/install_triton.py first", pytrace=False)
        yield None
        return
    target = TritonTarget(env)
    try:
        yield target
    finally:
        target.close()


@pytest.fixture(scope="session")
def reference(triton: TritonTarget | None) -> Iterator[Reference]:
    """The real server's answers, and their record."""
    golden = Golden()
    yield Reference(triton, golden)
    if recording() and triton is not None:
        golden.save(triton.server.version(), triton.python)


@pytest.fixture(scope="session")
def blsnb() -> Iterator[Target]:
    """One blsnb server for the whole session."""
    target = BlsnbTarget()
    try:
        yield target
    finally:
        target.close()


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    """The server under test."""
    if request.param == "triton" and request.getfixturevalue("triton") is None:
        pytest.skip("no real Triton server here")
    return request.getfixturevalue(request.param)


@pytest.fixture
def agree(
    request: pytest.FixtureRequest, target: Target, reference: Reference
) -> Callable[..., None]:
    """Return the check that a case gets the real server's answer.

    `agree(case, python_speaks=True)` compares only where both sides run the
    same Python release, since its own texts change from one to the next.
    """
    module = request.module.__name__.rpartition(".")[2]
    key = key_of(request, target)

    def check(case: Case, *, python_speaks: bool = False) -> None:
        if target.name == "blsnb" and key in AT_THE_END_POINT:
            pytest.skip("checked by gRPC's end point, which blsnb does not have yet")
        if recording() and target is reference.server:
            reference.golden.record(module, key, reference.live(module, key, case))
            return
        known = reference.expected(module, key, case, target)
        if python_speaks and reference.python(module, target) != target.python:
            pytest.skip("Python's own words differ between its releases")
        seen = plain(case(target))
        assert known == seen

    return check


def key_of(request: pytest.FixtureRequest, target: Target) -> str:
    """Name a case without the target that it runs on."""
    parts = [
        part for part in request.node.callspec.id.split("-") if part != target.name
    ]
    name = request.node.originalname.removeprefix("test_")
    return "/".join([name, "-".join(parts)]) if parts else name
