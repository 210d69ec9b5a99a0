"""NVIDIA's schema is loaded once, without importing grpc."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from blsnb.model.text import schema as schemas

OURS = "from blsnb.model.text.schema import schema; ours = schema()"
THEIRS = "import tritonclient.grpc as theirs"
SAME = "assert ours is theirs.model_config_pb2"


def run(*lines: str) -> None:
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, timeout=180)


def test_schema_does_not_import_grpc() -> None:
    """A configuration can be parsed while grpc stays unloaded."""
    run(
        "import sys",
        "from blsnb.model.config import parse_pbtxt",
        "assert parse_pbtxt('name: \"m\"').name == 'm'",
        "assert 'grpc' not in sys.modules",
    )


@pytest.mark.parametrize("order", [(OURS, THEIRS), (THEIRS, OURS)])
def test_schema_is_the_one_of_tritonclient(order: tuple[str, str]) -> None:
    """The message class is that of tritonclient, in any order of imports."""
    run(*order, SAME, "from tritonclient.grpc import service_pb2")


def test_schema_is_loaded_once() -> None:
    """A module that is already loaded is used."""
    loaded = schemas.schema()

    assert loaded is schemas.schema.__wrapped__()


def test_without_tritonclient_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing schema is an ImportError with the command that installs it."""
    monkeypatch.delitem(sys.modules, "tritonclient.grpc.model_config_pb2")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(ImportError, match=r'pip install "tritonclient\[grpc\]"$'):
        schemas.schema.__wrapped__()


def test_a_schema_that_fails_leaves_no_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A partially loaded module would hide the error from the next import."""
    name = "tritonclient.grpc.model_config_pb2"
    broken = tmp_path / "model_config_pb2.py"
    broken.write_text("raise RuntimeError('broken')")
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(schemas, "_schema_file", lambda: broken)

    with pytest.raises(RuntimeError, match="broken"):
        schemas.schema.__wrapped__()
    assert name not in sys.modules
