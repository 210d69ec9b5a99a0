"""An export can be built as a container image, and run by KServe."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path

import pytest
import yaml
from cells import CONFIG, DOUBLE

from blsnb import Server
from blsnb.errors import RepositoryError
from blsnb.repository.deployment import DOCKERFILE, IGNORED, KSERVE, Deployment

IMAGE = "registry.example:5000/team/faces_v2:1.0"
_INSTRUCTION = re.compile(r"(FROM|COPY|RUN|EXPOSE|CMD) (.+)")


@pytest.fixture
def target(tmp_path) -> Path:
    """Where the models are exported to."""
    return tmp_path / "models"


def instructions(folder: Path) -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each on one line."""
    lines = (folder / DOCKERFILE).read_text(encoding="utf-8").splitlines()
    matches = [_INSTRUCTION.fullmatch(line) for line in lines]
    assert None not in matches
    return [match.group(1, 2) for match in matches if match]


def predictor(folder: Path) -> dict:
    """Return the specification of the KServe predictor."""
    service = yaml.safe_load((folder / KSERVE).read_text(encoding="utf-8"))
    assert {"apiVersion", "kind", "metadata", "spec"} == set(service)
    assert "serving.kserve.io/v1beta1" == service["apiVersion"]
    assert "InferenceService" == service["kind"]
    return service["spec"]["predictor"]


def export(target: Path, config: str = "", **settings) -> None:
    """Export a model with an image."""
    with Server(**settings) as server:
        server.define("double", DOUBLE, config=f"{CONFIG}{config}")
        server.export_repository(target, deploy=IMAGE)


def test_the_image_holds_the_models_of_this_release(target):
    """Its base is the Triton release that the server follows."""
    export(target, triton_release="25.06")

    assert [
        ("FROM", "nvcr.io/nvidia/tritonserver:25.06-py3"),
        ("COPY", "requirements.txt /models/"),
        ("RUN", "pip install --no-cache-dir -r /models/requirements.txt"),
        ("COPY", ". /models/"),
        ("EXPOSE", "8000 8001 8002"),
        ("CMD", '["tritonserver", "--model-repository=/models"]'),
    ] == instructions(target)


def test_only_files_that_triton_needs_are_copied(target):
    """The image is not built anew when its own files change."""
    export(target)
    patterns = (target / IGNORED).read_text(encoding="utf-8").split()
    copied = {
        each.name
        for each in target.iterdir()
        if not any(fnmatch.fnmatch(each.name, pattern) for pattern in patterns)
    }

    assert {"double", "requirements.txt"} == copied


def test_settings_of_the_server_are_arguments(target):
    """Triton serves in the image as the notebook did."""
    export(target, strict_model_config=True, cache_bytes=4096)
    settings = ["--disable-auto-complete-config", "--cache-config=local,size=4096"]
    command = ["tritonserver", "--model-repository=/models", *settings]

    assert command == json.loads(dict(instructions(target))["CMD"])
    [container] = predictor(target)["containers"]
    assert [*command, "--http-port=8080"] == container["args"]


def test_kserve_runs_the_image(target):
    """The container has KServe's name, its default port and shared memory."""
    export(target)
    spec = predictor(target)
    [container] = spec["containers"]

    assert ("kserve-container", IMAGE) == (container["name"], container["image"])
    assert [{"name": "PROTOCOL", "value": "v2"}] == container["env"]
    assert [8080] == [port["containerPort"] for port in container["ports"]]
    assert {"path": "/v2/health/ready", "port": 8080} == (
        container["readinessProbe"]["httpGet"]
    )
    [mount], [volume] = container["volumeMounts"], spec["volumes"]
    assert ("/dev/shm", volume["name"]) == (mount["mountPath"], mount["name"])
    assert {"medium": "Memory", "sizeLimit": "1Gi"} == volume["emptyDir"]
    assert "resources" not in container


def test_a_model_on_a_gpu_gets_one(target):
    """The manifest requests a GPU, and the README's command passes all of them."""
    group = "instance_group { kind: KIND_GPU count: 1 }"
    export(target, group, runtime="simulated")
    [container] = predictor(target)["containers"]

    assert {"limits": {"nvidia.com/gpu": 1}} == container["resources"]
    readme = (target / "README.md").read_text(encoding="utf-8")
    assert f"docker build -t {IMAGE} ." in readme
    assert 2 == readme.count("docker run --rm --gpus=all --shm-size=1g")


@pytest.mark.parametrize(
    ("image", "service"),
    [
        ("faces", "faces"),
        (IMAGE, "faces-v2"),
        ("9lives:latest", "triton-9lives"),
        (f"{'a' * 39}.b", "a" * 39),
        (f"host:5000/{'a' * 41}:1", "a" * 40),
    ],
)
def test_the_service_is_named_after_the_image(image, service):
    """Its name is valid on Kubernetes."""
    text = Deployment(image).texts((26, 7))[KSERVE]

    assert service == yaml.safe_load(text)["metadata"]["name"]


@pytest.mark.parametrize("image", ["", "Faces", "a b", "a:b:c", "a/", "a\nb", "-a"])
def test_a_wrong_name_of_an_image_is_refused(image, target):
    """Nothing is written."""
    with (
        Server() as server,
        pytest.raises(
            ValueError,
            match=r"name of a container image in lower case, such as "
            r"'registry\.example/faces:1'$",
        ),
    ):
        server.export_repository(target, deploy=image)

    assert not target.exists()


def test_a_changed_file_is_not_overwritten(target):
    """A Dockerfile that was edited is kept, and the error names it."""
    export(target)
    (target / DOCKERFILE).write_text("FROM scratch\n")

    with pytest.raises(RepositoryError, match=r"Dockerfile in .*--force"):
        export(target)

    assert "FROM scratch\n" == (target / DOCKERFILE).read_text()


def test_an_export_in_place_has_no_image():
    """Both arguments exclude each other."""
    with (
        Server() as server,
        pytest.raises(ValueError, match="exclude each other") as refused,
    ):
        server.export_repository(in_place=True, deploy=IMAGE)
    assert (
        f"deploy={IMAGE!r} and in_place=True exclude each other: in place, models are "
        "written to the folders that they come from"
    ) == str(refused.value)
