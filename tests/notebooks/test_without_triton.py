"""The tutorials that start a real server, on a machine without one."""

import pytest
from asserting import some

from .conftest import NOTEBOOKS
from .executing import complaint, execute

TUTORIALS = ["10_take_it_to_triton", "11_what_happened_in_production"]


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", TUTORIALS)
def test_it_says_what_is_missing_and_runs_all_the_same(name, tmp_path, monkeypatch):
    """Its checks hold without the server."""
    monkeypatch.setenv("BLSNB_HIDE_TRITON", "1")
    # A server on PATH would be found as well.
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = execute(NOTEBOOKS / f"{name}.ipynb", tmp_path)
    texts = [output.get("text", "") for output in done.outputs]

    assert [] == [each for each in map(complaint, some(done.outputs)) if each]
    assert any("there is no real Triton server" in text for text in texts)
