"""Error texts of two servers are equal if only paths and addresses differ."""

from __future__ import annotations

from pathlib import Path

import blsnb.pb_utils
from blsnb.parity.triton.outcome import without_paths


def test_paths_and_addresses_are_replaced():
    """They are those of the repository, of the Python backend and of Python."""
    own = Path(blsnb.pb_utils.__file__).parent / "functions.py"
    ours = without_paths(
        f"<f at 0x7f01> /tmp/ours/m/1/model.py {own}(12): f /opt/lib/python3.11/x.py",
        [Path("/tmp/ours")],
    )
    theirs = without_paths(
        "<f at 0x02> /a/b/m/1/model.py /x/triton_python_backend_utils.py(9): f "
        "/usr/lib/python3.12/x.py",
        [Path("/a/b"), Path("/a")],
    )

    assert ours == theirs
    expected = (
        "<f at 0x…> <repository>/m/1/model.py "
        "<backend>/triton_python_backend_utils.py: f <python>/x.py"
    )
    assert expected == ours


def test_files_of_models_are_recognised_without_their_folder():
    """The folder of a remote server's repository is unknown."""
    texts = [f"At:\n  {where}/m/12/model.py(3): f" for where in ("/a", "/data/my.d")]

    assert {"At:\n  <repository>/m/12/model.py(3): f"} == {
        without_paths(text, ()) for text in texts
    }
    assert "/a/b/c.py" == without_paths("/a/b/c.py", ())
