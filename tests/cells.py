"""Model sources for tests, made of the lines of an ``execute``."""

from __future__ import annotations

import os
import textwrap

from blsnb import Server
from blsnb.parts.server_parts import parts_of
from blsnb.repository.directory import newest_ns

HEAD = """\
import asyncio
import threading
import time

import numpy as np
import stage
import triton_python_backend_utils as pb_utils


def x_of(request):
    return pb_utils.get_input_tensor_by_name(request, "X").as_numpy()


def reply(array):
    return pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)])


def ask(name, request, **options):
    return pb_utils.InferenceRequest(
        model_name=name,
        inputs=request.inputs(),
        requested_output_names=["Y"],
        **options,
    )


def answer_of(response):
    if response.has_error():
        raise pb_utils.TritonModelException(response.error().message())
    return pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()


"""
FINAL = "pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL"
CONFIG = """
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
"""


def touch(server: Server, name: str) -> None:
    """Make the files of a model's versions newer than the loaded ones."""
    folder = parts_of(server).repository.directory(name)
    later_ns = newest_ns(folder.files()) + 1_000_000_000
    for number in folder.versions:
        os.utime(folder.version_dir(number), ns=(later_ns, later_ns))


def cell(execute: str, *, asynchronous: bool = False, methods: str = "") -> str:
    """Return a model whose ``execute`` has these lines, after ``request = …``."""
    start = "    async def" if asynchronous else "    def"
    return (
        f"{HEAD}class TritonPythonModel:\n"
        f"{textwrap.indent(textwrap.dedent(methods), '    ')}"
        f"{start} execute(self, requests):\n        request = requests[0]\n"
        f"{textwrap.indent(textwrap.dedent(execute).strip(), '        ')}\n"
    )


def calling(name: str) -> str:
    """Return a model that calls another one and returns its response."""
    return cell(f'return [reply(answer_of(ask("{name}", request).exec()))]')


def line_of(source: str, words: str) -> int:
    """Return the number of the first line of a source that contains a text."""
    lines = source.splitlines()
    return next(n for n, line in enumerate(lines, 1) if words in line)


def instances(count: int) -> str:
    """Return a configuration with that many instances."""
    return f"{CONFIG}\ninstance_group {{ kind: KIND_CPU count: {count} }}\n"


OWN_THREAD = (
    f"{CONFIG}\n"
    'parameters { key: "BLSNB_THREAD" value { string_value: "instance" } }\n'
)
DOUBLE = cell("return [reply(x_of(request) * 2)]")
TRIPLE = cell("return [reply(x_of(request) * 3)]")
# Methods that append their name and the copy's to `stage.seen`.
LIFE = """
def initialize(self, args):
    stage.seen.append("initialize {0}")

def finalize(self):
    stage.seen.append("finalize {0}")

"""
