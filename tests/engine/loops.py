"""Models that run for long, and whether a server still serves."""

from __future__ import annotations

import textwrap

import numpy as np
from cells import CONFIG, DOUBLE, cell

from blsnb import Server

X = {"X": np.array([1, 2], np.float32)}
STOP = {"X": np.array([-1, 2], np.float32)}
SLEEPER = """
if x_of(request)[0] < 0:
    stage.sleep()
return [reply(x_of(request) * 2)]
"""

FAN_OUT = cell(
    """
    stage.seen.append("begins")
    calls = [ask("sleeper", request).async_exec() for _ in range(4)]
    answers = [answer_of(answer) for answer in await asyncio.gather(*calls)]
    return [reply(answers[0])]
    """,
    asynchronous=True,
)
LOOPS = {
    "sleeping": "stage.sleep()",
    "computing": """
        stage.events["asleep"].set()
        while True:
            np.linalg.norm(np.ones(4))
        """,
    "pb_utils": """
        stage.events["asleep"].set()
        while True:
            pb_utils.Tensor("Y", x_of(request)).shape()
        """,
    "printing": """
        stage.events["asleep"].set()
        while True:
            print(".", end="")
        """,
    "logging": """
        stage.events["asleep"].set()
        while True:
            pb_utils.Logger.log_verbose("again")
        """,
    "calling": """
        stage.events["asleep"].set()
        while True:
            answer_of(ask("double", request).exec())
        """,
    "polling": """
        stage.events["asleep"].set()
        while not request.is_cancelled():
            pass
        """,
    "waiting": """
        stage.events["asleep"].set()
        self.held = request.get_response_sender()
        return None
        """,
}


def interrupted_by(loop: str) -> str:
    """Return lines that run a loop for a negative input."""
    inner = textwrap.indent(textwrap.dedent(loop).strip(), "    ")
    return f"if x_of(request)[0] < 0:\n{inner}\nreturn [reply(x_of(request) * 2)]"


def answers(server: Server, name: str) -> bool:
    """Whether a model still does its work, and another one can be made."""
    server.define("double", DOUBLE, config=CONFIG)
    results = [server.infer(each, X)["Y"].tolist() for each in (name, "double")]
    return [[2, 4], [2, 4]] == results
