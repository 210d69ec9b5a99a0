"""Specification of temporary folders that belong to one process."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from blsnb.files import owned
from blsnb.files.owned import OwnedFolder, locked, owned_file, sweep

PREFIX = "blsnb-test-"
HOLD = """
import os, sys
from pathlib import Path
from blsnb.files.owned import OwnedFolder
folder = OwnedFolder(Path(sys.argv[1]), "blsnb-test-")
print(folder.create(), flush=True)
sys.stdin.read()
"""
FORK = """
import os, sys
from pathlib import Path
{make}
child = os.fork()
if not child:
    {end}
assert os.waitpid(child, 0)[1] == 0, "the child failed"
{check}
"""


def holder(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process with a folder, and return both."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    """End a process, and wait for it."""
    process.communicate(timeout=60)


def test_a_folder_of_a_running_process_is_not_swept(tmp_path):
    """Not even by a process in another namespace of process ids."""
    process, folder = holder(tmp_path)
    sweep(tmp_path, PREFIX)
    assert folder.is_dir()

    end(process)
    assert not folder.exists()


def test_a_folder_of_a_killed_process_is_swept(tmp_path):
    """Read-only contents are removed, too, and nothing else."""
    process, folder = holder(tmp_path)
    (folder / "locked" / "inner").mkdir(parents=True)
    (folder / "locked" / "inner" / "file").touch()
    (folder / "locked").chmod(0o500)
    others = [f"{PREFIX}x", f"{PREFIX}{'0' * 16}.keep", "other"]
    for name in others:
        (tmp_path / name).mkdir()
    process.kill()
    end(process)

    sweep(tmp_path, PREFIX)
    assert sorted(others) == sorted(each.name for each in tmp_path.iterdir())


def test_a_link_of_such_a_name_is_not_followed(tmp_path):
    """Any user may put one into a folder for temporary files."""
    (tmp_path / "theirs").mkdir()
    link = tmp_path / f"{PREFIX}{'0' * 16}"
    link.symlink_to(tmp_path / "theirs")

    sweep(tmp_path, PREFIX)
    assert link.is_symlink()
    assert (tmp_path / "theirs").is_dir()


def test_a_folder_is_removed_with_its_owner(tmp_path):
    """When it is closed, also twice, or collected."""
    folder = OwnedFolder(tmp_path, PREFIX)
    folder.create()
    folder.close()
    folder.close()
    assert [] == list(tmp_path.iterdir())

    forgotten = OwnedFolder(tmp_path, PREFIX)
    forgotten.create()
    del forgotten
    assert [] == list(tmp_path.iterdir())


def test_what_cannot_be_examined_is_not_removed(tmp_path):
    """A finaliser must not report it."""
    with pytest.raises(OSError, match="too long"):
        OwnedFolder(tmp_path, "x" * 300).create()
    owned.remove(tmp_path / ("x" * 300))

    assert [] == list(tmp_path.iterdir())


def test_a_closed_folder_is_not_removed_again(tmp_path):
    """Its path may have another owner by then."""
    folder = OwnedFolder(tmp_path, PREFIX)
    path = folder.create()
    folder.close()
    path.mkdir()
    del folder

    assert path.is_dir()


def test_a_folder_that_is_swept_during_creation_is_created_again(tmp_path, monkeypatch):
    """Before it is locked it looks like one of a killed process."""
    opened = owned._opened
    names = []

    def swept_first(path):
        names.append(path)
        if len(names) == 1:
            path.rmdir()
        return opened(path)

    monkeypatch.setattr(owned, "_opened", swept_first)
    folder = OwnedFolder(tmp_path, PREFIX)
    made = folder.create()
    assert made == folder.path != names[0]
    assert folder.path.is_dir()
    folder.close()


HELD = r"^another process has been writing to {} for 0\.05 s$"


def test_a_folder_is_locked_by_one_writer_at_a_time(tmp_path):
    """Threads of one process exclude each other; the wait has a limit."""
    with (
        locked(tmp_path, 0) as is_locked,
        pytest.raises(TimeoutError, match=HELD.format(tmp_path)),
        locked(tmp_path, 0.05),
    ):
        pass
    assert is_locked
    with locked(tmp_path, 0) as is_locked:
        assert is_locked


def test_without_locks_nothing_is_swept(tmp_path, monkeypatch):
    """Whether the owner is running is unknown; all else works."""

    def flock(descriptor, how):
        raise OSError("no locks")

    monkeypatch.setattr(owned.fcntl, "flock", flock)
    folder = OwnedFolder(tmp_path, PREFIX)
    folder.create()
    sweep(tmp_path, PREFIX)
    assert folder.path.is_dir()
    with locked(tmp_path, 0) as is_locked, owned_file(tmp_path, "x") as file:
        assert not is_locked
        assert file.is_file()
    folder.close()
    assert [] == list(tmp_path.iterdir())


SERVER = """
sys.path.insert(0, "{tests}")
import blsnb
from blsnb.parts.server_parts import parts_of
from cells import CONFIG, cell
finalized = Path(sys.argv[1]) / "finalized"
source = cell("return [reply(x_of(request))]", methods='''
def finalize(self):
    open({finalized!r}, "a").write("x")
''')
server = {server}
server.define("m", source, config=CONFIG)
files = {{"file:1/model.py": source}}
server.load("given", config={{"backend": "python"}}, files=files)
parts = parts_of(server)
folders = [parts.repository.private_root, parts.control.sources.folder("given").path]
"""
ENDS = {
    "blsnb.server()": "sys.exit(0)",
    "blsnb.Server()": "exec('with server: sys.exit(0)')",
}
"""The ends of a child, by the server that it has a copy of."""


@pytest.mark.parametrize("server", ENDS)
def test_a_forked_child_removes_nothing(tmp_path, server):
    """The process that created them finalizes models and removes folders."""
    tests = Path(__file__).parents[1]
    finalized = str(tmp_path / "finalized")
    make = SERVER.format(tests=tests, server=server, finalized=finalized)
    check = f"""
assert not os.path.exists({finalized!r}), "the child finalized a model"
assert all(folder.is_dir() for folder in folders), "the child removed a folder"
server.infer("m", {{"X": [1.0]}})
server.close()
assert open({finalized!r}).read() == "xx"
assert not any(folder.exists() for folder in folders)
"""
    script = FORK.format(make=make, end=ENDS[server], check=check)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "" == done.stderr
    assert 0 == done.returncode


def test_a_child_that_ends_leaves_the_ports_open(tmp_path):
    """The sockets are the parent's, which still serves its clients."""
    make = """
import blsnb, urllib.request
from blsnb.serving.endpoints import serve
server = blsnb.Server()
endpoints = serve(server, http=0, grpc=None, metrics=None)
ready = f"http://{endpoints.addresses['HTTP'].split('//')[-1]}/v2/health/ready"
"""
    check = """
assert urllib.request.urlopen(ready, timeout=60).status == 200
server.close()
"""
    ending = "exec('with endpoints: sys.exit(0)')"
    script = FORK.format(make=make, end=ending, check=check)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert 0 == done.returncode, done.stderr


FORKS = """
sys.path.insert(0, "{tests}")
import blsnb
from blsnb.parts.server_parts import parts_of
from cells import CONFIG, cell
forks = cell("return [reply(x_of(request) * 3)]", methods='''
def initialize(self, args):
    import os
    child = os.fork()
    if not child:
        raise {error}
    assert os.waitpid(child, 0)[1] == 0
''')
parent = os.getpid()
server = blsnb.Server()
server.define("m", cell("return [reply(x_of(request) * 2)]"), config=CONFIG)
try:
    {load}
except blsnb.ModelLoadError:
    assert os.getpid() != parent
    os._exit(0)
root = parts_of(server).repository.private_root
assert [root / "m"] == list(root.iterdir()), list(root.iterdir())
assert forks == (root / "m" / "1" / "model.py").read_text(), "the child undid it"
assert [3] == server.infer("m", {{"X": [1.0]}})["Y"].tolist()
server.close()
"""
LOADS = {
    "one file": 'server.define("m", forks, config=CONFIG)',
    "a folder": 'server.define("m", forks, config=CONFIG, files={"data": "new"})',
}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("error", ["SystemExit(0)", "ValueError('no')"])
def test_a_child_of_a_model_that_loads_undoes_nothing(tmp_path, load, error):
    """Its copy of the definition fails; that of the parent serves."""
    tests = Path(__file__).parents[1]
    script = FORKS.format(tests=tests, error=error, load=LOADS[load])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import os, sys\n{script}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert 0 == done.returncode, done.stderr


COPY = """
import asyncio, signal, sys
sys.path.insert(0, "{tests}")
import blsnb
from cells import CONFIG, cell
server = {server}
source = cell("return [reply(x_of(request) * 2)]", asynchronous=True)
server.define("m", source, config=CONFIG)
asyncio.run(server.async_infer("m", {{"X": [1.0]}}))
stream = server.stream("m", {{"X": [1.0]}})
"""
USES = """
FORKED = (
    "this process was forked from that of the server, without its threads; make a "
    "blsnb.Server() here, or start the process with the method 'spawn'"
)
signal.alarm(30)
uses = [
    lambda: server.infer("m", {"X": [1.0]}),
    lambda: server.stream("m", {"X": [1.0]}),
    lambda: next(stream),
    lambda: asyncio.run(server.async_infer("m", {"X": [1.0]})),
    lambda: server.define("m", source),
    lambda: server.evaluate("m", [{"X": [1.0]}]),
]
if sys.argv[1:]:
    uses.append(lambda: blsnb.infer("m", {"X": [1.0]}))
for use in uses:
    try:
        use()
    except blsnb.ServerClosedError as error:
        assert str(error) == FORKED, error
    else:
        os._exit(1)
with blsnb.Server() as own:
    own.define("m", source, config=CONFIG)
    own.infer("m", {"X": [1.0]})
os._exit(0)
"""


@pytest.mark.parametrize("arguments", [(), ("default",)])
def test_a_server_is_refused_in_a_forked_child(arguments):
    """Without the threads of the parent its requests would wait forever."""
    server = "blsnb.server()" if arguments else "blsnb.Server()"
    make = COPY.format(tests=Path(__file__).parents[1], server=server)
    end = textwrap.indent(USES, "    ")
    check = 'server.infer("m", {"X": [1.0]})\nserver.close()'
    script = FORK.format(make=make, end=end, check=check)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ("", 0) == (done.stderr, done.returncode)
