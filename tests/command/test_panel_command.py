"""Specification of ``blsnb panel``: the extension in an editable install."""

import json
import sys

import pytest

from blsnb.command.program import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where JupyterLab of an environment looks for the panel."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path / "share" / "jupyter" / "labextensions" / "blsnb"


def test_it_links_an_extension_that_jupyterlab_can_load(place, capsys):
    """Again has the same result."""
    statuses = [main(["panel"]), main(["panel"])]
    built = json.loads((place / "package.json").read_text())["jupyterlab"]["_build"]

    assert [0, 0] == statuses
    assert place.is_symlink()
    assert (place / built["load"]).stat().st_size <= 60_000
    linked = f"The panel is linked into {place}; reload open pages.\n"
    assert linked * 2 == capsys.readouterr().out


def test_remove_removes_the_link(place, capsys):
    """Removing it again says that it is not there."""
    main(["panel"])
    main(["panel", "--remove"])
    assert not place.is_symlink()
    main(["panel", "--remove"])

    assert [
        f"The panel is linked into {place}; reload open pages.",
        f"The link {place} is removed; reload open pages.",
        f"There is no panel in {place}.",
    ] == capsys.readouterr().out.splitlines()


def test_what_a_wheel_installed_stays(place, capsys):
    """It is pip's."""
    place.mkdir(parents=True)
    statuses = [main(["panel"]), main(["panel", "--remove"])]

    assert [0, 0] == statuses
    assert place.is_dir()
    assert [
        f"The panel is installed in {place}, as the wheel installs it.",
        f"{place} belongs to the installed wheel: pip uninstall blsnb removes it.",
    ] == capsys.readouterr().out.splitlines()


def test_another_word_is_refused(place, capsys):
    """With what is expected."""
    assert 2 == main(["panel", "--delete"])
    refused = "'--delete' is not valid; expected --remove"
    assert refused in capsys.readouterr().err
