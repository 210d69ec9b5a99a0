"""What `benchmarks.two_trees` counts, with public names that two trees have in common.

Run as a file, so that ``blsnb`` is the tree's on ``PYTHONPATH``:
``python -P repeated.py NAME REPETITIONS FOLDER``.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

Repeated = Callable[[Path, int], object]


def served(
    model: str, level: str, folder: Path, count: int, **inputs: int | str
) -> None:
    """Send a request to a model that does something ``count`` times."""
    import blsnb

    server = blsnb.Server(
        model_repository=folder, startup_models="*", trace_level=level
    )
    with contextlib.closing(server):
        given = {name: [value] for name, value in inputs.items()}
        server.infer(model, given | {counted(model): [count]})


def counted(model: str) -> str:
    """Return the input that says how often."""
    return "COUNT" if model == "measure_stream" else "CALLS"


def calls(target: str, size: int, level: str = "timestamps") -> Repeated:
    """Return blocking calls of a model, one after the other."""
    inputs: dict[str, Any] = {"MODEL": target, "BYTES_EACH": size}
    return partial(served, "measure_call", level, **inputs)


def tasks(target: str, number: int) -> Repeated:
    """Return awaited calls in concurrent tasks."""
    inputs: dict[str, Any] = {"MODEL": target, "CONCURRENCY": number}
    return partial(served, "measure_fan_out", "timestamps", **inputs)


def cells(folder: Path, count: int) -> None:
    """Define a model again and again."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    source = (folder / "identity/1/model.py").read_text()
    config = (folder / "identity/config.pbtxt").read_text()
    with contextlib.redirect_stdout(io.StringIO()):
        shell.run_line_magic("load_ext", "blsnb")
        shell.run_cell(f"%%triton_config identity\n{config}").raise_error()
        for number in range(count):
            cell = f"%%triton_model identity\n{source}# {number}\n"
            shell.run_cell(cell).raise_error()


def loads(folder: Path, count: int) -> None:
    """Load a model of the repository again and again."""
    import blsnb

    with contextlib.closing(blsnb.Server(model_repository=folder)) as server:
        for _ in range(count):
            server.load("identity")
            server.unload("identity")


def pages(folder: Path, count: int, *, of: int) -> None:
    """Save the page of a run."""
    import blsnb

    server = blsnb.Server(
        model_repository=folder, startup_models="*", trace_level="tensors"
    )
    inputs: dict[str, Any] = {"MODEL": ["identity"], "BYTES_EACH": [64]}
    with contextlib.closing(server), tempfile.TemporaryDirectory() as made:
        run = server.infer("measure_call", inputs | {"CALLS": [of - 1]})
        for _ in range(count):
            run.save(Path(made) / "run.html")


def requests(name: str, folder: Path, count: int) -> None:
    """Send requests to an end point, with NVIDIA's client in the same process."""
    import numpy as np

    import blsnb
    from blsnb.serving import serve

    kind = name.lower()
    client = importlib.import_module(f"tritonclient.{kind}")
    given = client.InferInput("X", [64], "UINT8")
    given.set_data_from_numpy(np.zeros(64, np.uint8))
    server = blsnb.Server(model_repository=folder, startup_models="*")
    ends = {"http": None, "grpc": None, "metrics": None} | {kind: 0}
    with contextlib.closing(server), serve(server, **ends) as served:
        address = f"127.0.0.1:{served.ports[name]}"
        with client.InferenceServerClient(address) as connected:
            for _ in range(count):
                connected.infer("identity", [given])


def imports(folder: Path, count: int) -> None:
    """Import NumPy, which most of the package needs, and then the package."""
    for name in ("numpy", "blsnb")[:count]:
        importlib.import_module(name)


STREAM = partial(served, "measure_stream", "timestamps")
REPEATED: dict[str, tuple[int, int, Repeated]] = {
    "a whole call, 64 B, timestamps": (20, 10_000, calls("identity", 64)),
    "a whole call, 64 B, tensors": (20, 10_000, calls("identity", 64, "tensors")),
    "a whole call, 4 KB, timestamps": (20, 10_000, calls("identity", 4 << 10)),
    "a whole call, 4 KB, tensors": (20, 10_000, calls("identity", 4 << 10, "tensors")),
    "a whole call, 1 MB, timestamps": (5, 1_000, calls("identity", 1 << 20)),
    "a whole call, 16 MB, timestamps": (2, 50, calls("identity", 16 << 20)),
    "a chain of 10 models": (5, 1_000, calls("link_0", 64)),
    "a streamed response": (50, 20_000, STREAM),
    "100 async_exec() at once": (1, 100, tasks("identity", 100)),
    "dynamic batching, 1 client": (10, 3_000, tasks("batched", 1)),
    "dynamic batching, 8 clients": (5, 1_000, tasks("batched", 8)),
    "a request over HTTP": (20, 4_000, partial(requests, "HTTP")),
    "a request over gRPC": (20, 4_000, partial(requests, "gRPC")),
    "cell to READY": (2, 60, cells),
    "load of a model": (2, 60, loads),
    "import blsnb": (1, 2, imports),
    "the page of 27 calls": (1, 30, partial(pages, of=27)),
    "the page of 1,000 calls": (1, 3, partial(pages, of=1000)),
}
"""By name: few repetitions, which pay for the start, many, and what is repeated."""


if __name__ == "__main__":
    # When a collection comes, and what it visits, is chance.
    gc.disable()
    REPEATED[sys.argv[1]][2](Path(sys.argv[3]), int(sys.argv[2]))
