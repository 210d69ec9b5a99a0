"""What the README promises is there and works."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from PIL import Image

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")),
]

OTHER_SITES = {
    "https://distributed.dask.org/en/stable/tls.html",
    "https://github.com/triton-inference-server/server",
    "https://keepachangelog.com",
    "https://mybinder.org",
}


def cells():
    """Return the README's blocks of Python, each as one cell."""
    return re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_eight_lines_are_eight_lines():
    """The example is as short as its heading says."""
    assert 8 == sum(len(cell.splitlines()) for cell in cells())


def test_the_moving_picture_takes_a_minute():
    """It is small enough for a slow network, and slow enough to read."""
    [file] = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    durations_ms = []
    with Image.open(ROOT / file) as picture:
        for frame in range(picture.n_frames):
            picture.seek(frame)
            picture.load()
            durations_ms.append(picture.info["duration"])

    assert 50_000 <= sum(durations_ms) <= 75_000
    assert (ROOT / file).stat().st_size <= 3_000_000


@pytest.mark.notebook
def test_the_eight_lines_show_a_run():
    """Typed into a new notebook, the example ends with a displayed run."""
    notebook = nbformat.v4.new_notebook(
        cells=[*map(nbformat.v4.new_code_cell, cells())]
    )

    NotebookClient(notebook, timeout=180).execute()

    (shown,) = notebook.cells[-1].outputs
    assert 'class="blsnb-run"' in shown["data"]["text/html"]
    assert "double" in shown["data"]["text/plain"]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_of_the_checkout(page):
    """A relative link names an existing file."""
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)

    assert [] == [
        link for link in links if not (ROOT / page).parent.joinpath(link).is_file()
    ]


def test_external_links_are_known():
    """Links are not followed, since there may be no network."""
    pages = [*map(ROOT.joinpath, PAGES), *ROOT.glob("notebooks/*.ipynb")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    found = {link for text in texts for link in re.findall(r"\]\((\w+:[^)]*)\)", text)}

    assert OTHER_SITES == found


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_named_exist(page):
    """Every `make TARGET` in a page is a target of the Makefile."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set() == {left or right for left, right in named} - targets - {"-k"}
