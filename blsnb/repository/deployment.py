"""Files that make a container image of an export, and a KServe service of the image."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DOCKERFILE = "Dockerfile"
IGNORED = ".dockerignore"
KSERVE = "kserve.yaml"
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:[A-Za-z0-9.-]+(?::\d+)?/)?{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?",
    re.ASCII,
)
_MAX_NAME = 40
"""Maximum length of a service's name, to which KServe appends."""
_HTTP_PORT = 8080
"""Port that KServe sends requests to by default."""
_TEMPLATES = Path(__file__).with_name("templates")
_FILES = {DOCKERFILE: "Dockerfile", IGNORED: "dockerignore", KSERVE: "kserve.yaml"}
"""Templates by the names of their files."""
_GPU = """\
        resources:
          limits:
            nvidia.com/gpu: 1
"""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A container image with Triton and the models of an export.

    Parameters
    ----------
    image
        Name of the image, such as ``registry.example/faces:1``.
    arguments
        Arguments of ``tritonserver`` besides the repository and ports.

    Raises
    ------
    ValueError
        The name is not that of an image.
    """

    image: str
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _IMAGE.fullmatch(self.image):
            raise ValueError(
                f"deploy={self.image!r} is not valid; expected the name of a container "
                "image in lower case, such as 'registry.example/faces:1'"
            )

    @property
    def service(self) -> str:
        """Name of the KServe service, from the image's name."""
        last = self.image.rpartition("/")[2].partition(":")[0]
        name = re.sub("[^a-z0-9]+", "-", last)
        if not name[0].isalpha():
            name = f"triton-{name}"
        return name[:_MAX_NAME].rstrip("-")

    def texts(self, release: tuple[int, int], *, gpu: bool = False) -> dict[str, str]:
        """Return the files' texts by name.

        Parameters
        ----------
        release
            The Triton release of the base image.
        gpu
            Whether a model needs a GPU.
        """
        command = ["tritonserver", "--model-repository=/models", *self.arguments]
        served = [*command, f"--http-port={_HTTP_PORT}"]
        values = {
            "release": f"{release[0]}.{release[1]:02}",
            "command": json.dumps(command),
            "name": self.service,
            "image": json.dumps(self.image),
            "arguments": _items(served),
            "port": _HTTP_PORT,
            "resources": _GPU if gpu else "",
        }
        return {name: template(file).format(**values) for name, file in _FILES.items()}

    def readme(self, *, gpu: bool = False) -> str:
        """Return the README's section with the commands."""
        gpus = " --gpus=all" if gpu else ""
        return template("deploy.md").format(
            image=self.image, name=self.service, gpus=gpus
        )


def template(name: str) -> str:
    """Return the text of a file that an export fills in."""
    return (_TEMPLATES / name).read_text("utf-8")


def _items(texts: Sequence[str]) -> str:
    """Return a block list of YAML; a string of JSON is one of YAML."""
    return "\n".join(f"          - {json.dumps(text)}" for text in texts)
