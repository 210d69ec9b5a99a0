"""One server of each kind for all cases, and the rule by which they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from blsnb.parity.triton.environment import installed

from .covering import LEDGER, Deviation, Ledger, named, rows_of
from .elsewhere import Disk, cache_of
from .over_http import End, end_of
from .reference import Case, Golden, Reference, plain, recording, required
from .scripted import Scene
from .served_target import blsnb_target
from .targets import Target
from .triton_target import MORTAL, TritonTarget

HERE = Path(__file__).parent
CACHE_BYTES = 1 << 20
TARGETS = [pytest.param("triton", marks=pytest.mark.triton_server), "blsnb"]


@pytest.fixture(scope="session")
def triton() -> Iterator[TritonTarget | None]:
    """One real server for the whole session, or None if none is installed."""
    env = installed()
    if env is None:
        if required() or recording():
            pytest.fail("run make triton first", pytrace=False)
        yield None
        return
    target = TritonTarget(env, MORTAL)
    try:
        yield target
    finally:
        target.close()


@pytest.fixture(scope="session")
def completing() -> Iterator[Callable[[Target], Target]]:
    """Return a server of a target's kind that completes configurations.

    The real one starts a process for that before each load, so the others do not.
    """
    made: list[TritonTarget] = []

    def other(target: Target) -> Target:
        if target.name == "blsnb":
            return target
        if not made:
            env = installed()
            assert env is not None
            made.append(TritonTarget(env))
        if not made[0].lives():
            made[0].start_again()
        return made[0]

    try:
        yield other
    finally:
        for each in made:
            each.close()


@pytest.fixture(scope="session")
def reference(triton: TritonTarget | None) -> Iterator[Reference]:
    """The real server's results, and their record."""
    golden = Golden()
    yield Reference(triton, golden)
    if recording() and triton is not None:
        golden.save(triton.server.version(), triton.python)


@pytest.fixture(scope="session")
def blsnb() -> Iterator[Target]:
    """One blsnb server for the whole session."""
    target = blsnb_target()
    try:
        yield target
    finally:
        target.close()


@pytest.fixture(scope="session")
def beside() -> Iterator[Callable[[Target], Target]]:
    """Return another server of a target's kind: strict, and with a response cache."""
    made: dict[str, Target] = {}

    def other(target: Target) -> Target:
        known = made.get(target.name)
        if isinstance(known, TritonTarget) and not known.lives():
            known.start_again()
        if known is None:
            env = installed()
            if target.name == "blsnb":
                made[target.name] = blsnb_target(CACHE_BYTES, strict=True)
            else:
                assert env is not None
                assert isinstance(target, TritonTarget)
                server = TritonTarget(env, [*MORTAL, *cache_of(env, CACHE_BYTES)])
                target.beside.append(server)
                made[target.name] = server
        return made[target.name]

    try:
        yield other
    finally:
        for each in made.values():
            each.close()


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that makes a folder for a server of one case."""
    return lambda: tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="session")
def disks(folders: Callable[[], Path]) -> Callable[[], Disk]:
    """Return functions that make such a folder, and run a server with it."""
    return lambda: Disk(folders())


@pytest.fixture(scope="session")
def served(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Target], End]]:
    """Return the server of a target's kind with an HTTP end point."""
    made: dict[str, End] = {}

    def end(target: Target) -> End:
        known = made.get(target.name)
        if known is not None and not known.lives():
            known.close()
            known = None
        if known is None:
            made[target.name] = end_of(target, tmp_path_factory.mktemp("http"))
        return made[target.name]

    try:
        yield end
    finally:
        for each in made.values():
            each.close()


@pytest.fixture
def scene(beside: Callable[[Target], Target]) -> Callable[..., Scene]:
    """Return a function that writes a model to that server, and sends requests."""
    return lambda target, *given, **more: Scene(beside(target), *given, **more)


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

    `agree(case, deviates="…", ours=check)` wants them to differ, for a reason that
    `docs/reference/deviations.md` gives in these words; `check(known, seen)` asserts
    what blsnb answers instead.
    """
    module = request.module.__name__.rpartition(".")[2]
    case_id = case_of(request.node.callspec.id, target.name)
    key = key_of(request.node.originalname, case_id)
    covered = sorted(set(rows_of(request.node.iter_markers("rows"), case_id)))
    ledger = request.config.stash[LEDGER]

    def check(
        case: Case,
        *,
        python_speaks: bool = False,
        deviates: str = "",
        ours: Callable[[Any, Any], None] | None = None,
    ) -> None:
        if recording() and target is reference.server:
            reference.golden.record(module, key, reference.live(module, key, case))
            return
        known = reference.expected(module, key, case, target)
        if python_speaks and reference.python(module, target) != target.python:
            pytest.skip("Python's own words differ between its releases")
        seen = answered(target, reference, module, key, case)
        deviation = None
        if deviates and target.name == "blsnb":
            assert known != seen, f"no longer a deviation: {deviates}"
            assert ours is not None
            ours(known, seen)
            deviation = Deviation(key, deviates, known, seen)
        else:
            assert known == seen
        if target.name == "blsnb":
            live = reference.is_live(module, key)
            ledger.note(covered, f"{module}.{key}", live, deviation)

    return check


def answered(
    target: Target, reference: Reference, module: str, key: str, case: Case
) -> Any:
    """Return a target's result; a case runs once on the real server."""
    if target is reference.server:
        return reference.live(module, key, case)
    return plain(case(target))


def case_of(callspec_id: str, target: str) -> str:
    """Return a case's own id: without the target that it runs on."""
    return "-".join(part for part in callspec_id.split("-") if part != target)


def key_of(originalname: str, case_id: str) -> str:
    """Name a case without the target that it runs on."""
    name = originalname.removeprefix("test_")
    return f"{name}/{case_id}" if case_id else name


def pytest_configure(config: pytest.Config) -> None:
    """Begin the ledger of this session."""
    config.addinivalue_line("markers", "rows: names rows of the specification")
    config.stash[LEDGER] = Ledger()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which conformance tests this session runs."""
    session.config.stash[LEDGER].chosen |= {
        item.nodeid.split("[")[0] for item in session.items if item.path.parent == HERE
    }


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Note the rows of slow tests that this session leaves out."""
    for item in items:
        if item.get_closest_marker("slow") and item.path.parent == HERE:
            left = item.config.stash[LEDGER].left
            test = left.setdefault(item.nodeid.split("[")[0], set())
            test |= set(named(item.iter_markers("rows")))
