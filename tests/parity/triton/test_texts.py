"""Texts of two servers say the same if only their places differ."""

from __future__ import annotations

from pathlib import Path

import blsnb.pb_utils
from blsnb.parity.triton.texts import plain


def test_paths_and_addresses_are_left_out():
    """Of the repository, of our part of the Python file, of Python itself."""
    own = Path(blsnb.pb_utils.__file__).parent / "functions.py"
    ours = plain(
        f"<f at 0x7f01> /tmp/ours/m/1/model.py {own}(12): f /opt/lib/python3.11/x.py",
        [Path("/tmp/ours")],
    )
    theirs = plain(
        "<f at 0x02> /a/b/m/1/model.py /x/triton_python_backend_utils.py(9): f "
        "/usr/lib/python3.12/x.py",
        [Path("/a/b"), Path("/a")],
    )

    assert ours == theirs
    assert "<f at 0x…> <repository>/m/1/model.py <backend>/" in ours


def test_files_of_models_are_alike_wherever_they_are():
    """Of a server elsewhere nobody knows the folder."""
    texts = [f"At:\n  {where}/m/12/model.py(3): f" for where in ("/a", "/data/my.d")]

    assert {"At:\n  <repository>/m/12/model.py(3): f"} == {
        plain(text, ()) for text in texts
    }
    assert "/a/b/c.py" == plain("/a/b/c.py", ())
