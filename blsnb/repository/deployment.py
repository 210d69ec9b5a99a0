"""Files that make a container image of an export, and a KServe service of the image."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

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
_TEXTS = {
    DOCKERFILE: """\
FROM nvcr.io/nvidia/tritonserver:{release}-py3
COPY requirements.txt /models/
RUN pip install --no-cache-dir -r /models/requirements.txt
COPY . /models/
EXPOSE 8000 8001 8002
CMD {command}
""",
    IGNORED: """\
.blsnb-export.json
.dockerignore
Dockerfile
README.md
kserve.yaml
**/__pycache__
""",
    KSERVE: """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: {name}
spec:
  predictor:
    containers:
      - name: kserve-container
        image: {image}
        args:
{arguments}
        env:
          - name: PROTOCOL
            value: v2
        ports:
          - containerPort: {port}
            name: http1
            protocol: TCP
        readinessProbe:
          httpGet:
            path: /v2/health/ready
            port: {port}
{resources}        volumeMounts:
          - name: shared-memory
            mountPath: /dev/shm
    volumes:
      - name: shared-memory
        emptyDir:
          medium: Memory
          sizeLimit: 1Gi
""",
}
_GPU = """\
        resources:
          limits:
            nvidia.com/gpu: 1
"""
_README = """
## Deploy it

Build an image that contains the models and their packages, and try it:

```sh
docker build -t {image} .
docker run --rm{gpus} --shm-size=1g -p 8000:8000 -p 8001:8001 -p 8002:8002 {image}
```

On Kubernetes with KServe:

```sh
docker push {image}
kubectl apply -f kserve.yaml
kubectl wait --for=condition=Ready --timeout=600s inferenceservice/{name}
```
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
        return {name: text.format(**values) for name, text in _TEXTS.items()}

    def readme(self, *, gpu: bool = False) -> str:
        """Return the README's section with the commands."""
        gpus = " --gpus=all" if gpu else ""
        return _README.format(image=self.image, name=self.service, gpus=gpus)


def _items(texts: Sequence[str]) -> str:
    """Return a block list of YAML; a string of JSON is one of YAML."""
    return "\n".join(f"          - {json.dumps(text)}" for text in texts)
