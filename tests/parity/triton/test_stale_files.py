"""What a process that was killed could not remove, its successor removes."""

from __future__ import annotations

import os
import subprocess
import sys

from blsnb.parity.triton import stale_files as leftovers


def test_what_an_owner_that_is_no_more_has_left_is_removed(tmp_path):
    """Files and folders; not those of one who lives, nor of another kind."""
    ask = [sys.executable, "-c", "import os; print(os.getpid())"]
    ended = subprocess.run(ask, capture_output=True, text=True, check=True)
    mine = leftovers.owned("blsnb_")
    gone = mine.replace(str(os.getpid()), ended.stdout.strip())
    kept = [f"{mine}8001", mine.replace(str(os.getpid()), "x"), "blsnb_7_1_1", "other"]
    for name in (f"{gone}8001", *kept):
        (tmp_path / name).touch()
    (tmp_path / f"{gone}folder" / "inner").mkdir(parents=True)

    leftovers.remove_leftovers(tmp_path, "blsnb_")

    assert sorted(kept) == sorted(each.name for each in tmp_path.iterdir())
