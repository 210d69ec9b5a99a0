"""Models that explain themselves: where they came from, and what does not serve."""

from __future__ import annotations

import os

import pytest
from cells import CONFIG, DOUBLE, TRIPLE, cell

from blsnb.errors import ModelLoadError, RepositoryError
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import Origin

X = {"X": [1.0]}


@pytest.fixture
def double(server):
    """A server with one model."""
    server.define("double", DOUBLE, config=CONFIG)
    return server


def test_a_removed_model_is_gone(double):
    """It is neither listed nor on disk, and can be defined anew."""
    double.remove("double")

    assert [] == double.models()
    assert [] == double.index()
    assert [3.0] == _defined(double, TRIPLE).infer("double", X)["Y"].tolist()


def _defined(server, source):
    server.define("double", source, config=CONFIG)
    return server


def test_a_removed_model_is_not_exported(double, tmp_path):
    """Unloaded models are not, either, unless they are named; notes say so."""
    double.define("gone", DOUBLE, config=CONFIG)
    double.define("idle", DOUBLE, config=CONFIG)
    double.remove("gone")
    double.unload("idle")

    exported = double.export_repository(tmp_path / "all")
    assert ("double",) == exported.models
    assert "idle: it is unloaded; it was left out" in exported.notes
    assert ("idle",) == double.export_repository(tmp_path / "one", ["idle"]).models


def test_an_unknown_model_cannot_be_removed(double):
    """A similar name is suggested."""
    with pytest.raises(RepositoryError, match="Did you mean 'double'"):
        double.remove("dubel")


def test_a_folder_of_the_users_is_not_removed(double, tmp_path):
    """The server only reads it."""
    double.export_repository(tmp_path / "mine")
    double.remove("double")
    double.import_repository(tmp_path / "mine")

    with pytest.raises(RepositoryError) as refused:
        double.remove("double")
    assert (
        f"model 'double' is in {tmp_path / 'mine'}, which this server only reads: "
        "unload it, or remove its folder there"
    ) == str(refused.value)
    assert [2.0] == double.infer("double", X)["Y"].tolist()


def test_an_unloaded_model_has_no_load_time(double):
    """It has no origin, either."""
    assert double.model("double").load_s > 0
    double.unload("double")

    status = double.model("double")
    assert (0.0, "", ()) == (status.load_s, status.origin, status.trouble)


def test_a_text_that_did_not_load_is_reported_until_one_does(double):
    """The exception is one line; the files on disk are those that serve."""
    broken = f"nonsense\n{DOUBLE}"
    with pytest.raises(ModelLoadError):
        double.define("double", broken, config=CONFIG)

    [trouble] = double.model("double").trouble
    assert (
        "newer text did not load: NameError: name 'nonsense' is not defined" == trouble
    )
    assert () == _defined(double, TRIPLE).model("double").trouble


def test_files_that_changed_on_disk_are_reported(double):
    """They are reported until they are loaded."""
    assert () == double.model("double").trouble
    path = _source(double)
    path.write_text(TRIPLE)
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))

    [trouble] = double.model("double").trouble
    assert trouble.startswith("changed on disk since the load")
    assert () == double.load("double").trouble


def _source(server):
    return parts_of(server).repository.directory("double").path / "1" / "model.py"


def test_the_origin_of_a_model(double, tmp_path):
    """It is a definition, a folder, or an argument of the load."""
    double.export_repository(tmp_path)
    assert "define()" == double.model("double").origin
    double.load("double", config=double.config("double"))
    assert "files or a configuration given with load()" == double.model("double").origin
    double.remove("double")
    [imported] = double.import_repository(tmp_path)
    assert str(tmp_path.resolve() / "double") == imported.origin


def test_versions_of_a_model_may_come_from_several_cells(double):
    """Each cell is named once, in the order of the versions."""
    source = _source(double).read_text()
    config = f"{CONFIG} version_policy {{ all {{}} }}"
    for version, name in ((1, "In[4]"), (2, "In[2]"), (3, "In[4]")):
        text = f"{source}# {version}\n"
        parts_of(double).control.origins[text] = Origin(name, 1)
        double.define("double", text, version=version, config=config)

    assert "cell In[4], cell In[2]" == double.model("double").origin


def test_what_a_model_lacks_is_a_finding(server):
    """A class without execute; a configuration without inputs or outputs."""
    source = DOUBLE.replace("def execute", "def run")
    found = server.define("m", source, config=CONFIG).findings
    assert any("has no execute()" in each for each in found)

    bare = server.define("bare", cell("return []")).findings
    assert ["it has no inputs", "it has no outputs"] == [
        each.partition(":")[0] for each in bare
    ]


def test_a_complete_model_has_no_finding(double):
    """A complete model gives no warnings."""
    assert () == double.model("double").findings


@pytest.mark.parametrize("version", [-1, 2**63])
def test_a_version_that_no_server_loads_is_refused(server, version):
    """Its folder would be ignored, and the model seem to have no source."""
    with pytest.raises(RepositoryError) as refused:
        server.define("double", DOUBLE, config=CONFIG, version=version)
    assert (
        f"version={version} is not valid; expected 0 to 9,223,372,036,854,775,807"
    ) == str(refused.value)

    assert [] == server.models()
