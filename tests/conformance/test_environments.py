"""Which paths and archives of EXECUTION_ENV_PATH load, and texts of the others."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import tarfile
from pathlib import Path

import pytest

from .covering import rows
from .elsewhere import CONFIG

ENVIRONMENT = """
parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{}" }} }}
"""
KEYWORD = "$$TRITON_MODEL_DIRECTORY"


def packed(name: str = "bin/activate", content: bytes = b"") -> bytes:
    """Return an archive of one file, not yet compressed."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return whole.getvalue()


def prepare(folder: Path) -> None:
    """Write environments beside the repository."""
    (folder / "dir" / "bin").mkdir(parents=True)
    (folder / "dir" / "bin" / "activate").touch()
    (folder / "empty").mkdir()
    (folder / "good.tar.gz").write_bytes(gzip.compress(packed()))
    (folder / "dot.tar.gz").write_bytes(gzip.compress(packed("./bin/activate")))
    (folder / "good.tar").write_bytes(packed())


@rows("r2.2/parameters")
def test_paths(agree, disks):
    """Folders and archives load; others are refused before the model's file is met."""
    values = {
        "none": "",
        "missing": "/nowhere/env.tar.gz",
        "relative": "env.tar.gz",
        "keyword_missing": f"{KEYWORD}/env.tar.gz",
        "keyword_late": f"/x/{KEYWORD}/env.tar.gz",
        "in_a_file": "FOLDER/good.tar/env",
        "folder": "FOLDER/dir",
        "empty_folder": "FOLDER/empty",
        "archive": "FOLDER/good.tar.gz",
        "dot": "FOLDER/dot.tar.gz",
        "not_compressed": "FOLDER/good.tar",
        "keyword": f"{KEYWORD}/../../good.tar.gz",
        "no_model": "/nowhere/env.tar.gz",
    }

    def case(target):
        disk = disks()
        prepare(disk.folder)
        for name, value in values.items():
            value = value.replace("FOLDER", str(disk.folder))
            disk.put(name, config=CONFIG + ENVIRONMENT.format(value))
        (disk.models / "no_model" / "1" / "model.py").unlink()
        with disk.serving(target) as server:
            return {name: [server.load(name), server.infer(name)] for name in values}

    agree(case)


ARCHIVES = {
    "text": b"not an archive",
    "nothing": b"",
    "bz2": bz2.compress(packed()),
    "cut": gzip.compress(packed(content=bytes(range(256)) * 4000), 0)[:500_000],
}


@rows("r2.2/parameters")
@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_that_cannot_be_read(agree, disks, name):
    """Each is the first one of its server."""

    def case(target):
        disk = disks()
        disk.models.parent.mkdir(exist_ok=True)
        (disk.folder / "env.tar.gz").write_bytes(ARCHIVES[name])
        value = f"{disk.folder}/env.tar.gz"
        disk.put("m", config=CONFIG + ENVIRONMENT.format(value))
        with disk.serving(target) as server:
            return server.load("m")

    agree(case)


@rows("r2.2/parameters")
def test_an_archive_that_follows_a_broken_one(agree, disks):
    """Triton has kept a folder of the broken one; here nothing is extracted."""

    def case(target):
        disk = disks()
        prepare(disk.folder)
        (disk.folder / "bad.tar.gz").write_bytes(b"")
        for name in ("bad", "good"):
            value = f"{disk.folder}/{name}.tar.gz"
            disk.put(name, config=CONFIG + ENVIRONMENT.format(value))
        with disk.serving(target) as server:
            server.load("bad")
            failure = server.load("good")
            return failure and failure.text.partition("'/tmp/")[0]

    def ours(known, seen):
        assert known.endswith("Internal: Failed to create environment directory for ")
        assert seen is None

    agree(case, deviates="an archive that follows a broken one", ours=ours)


@rows("r2.2/parameters")
def test_an_archive_without_activate(agree, disks):
    """The text names the archive instead of a temporary folder."""

    def case(target):
        disk = disks()
        disk.models.parent.mkdir(exist_ok=True)
        (disk.folder / "env.tar.gz").write_bytes(gzip.compress(packed("x")))
        value = f"{disk.folder}/env.tar.gz"
        disk.put("m", config=CONFIG + ENVIRONMENT.format(value))
        with disk.serving(target) as server:
            failure = server.load("m")
            # The name of the temporary folder is random.
            text = re.sub("/tmp/python_env_[^/]+/", "/tmp/python_env/", failure.text)
            return [failure.code, text]

    def ours(known, seen):
        before, _, rest = known[1].partition("Path ")
        after = rest.partition("/bin/activate")[2]
        assert f"{before}Path <folder>/env.tar.gz/bin/activate{after}" == seen[1]

    agree(case, deviates="an archive without `bin/activate`", ours=ours)
