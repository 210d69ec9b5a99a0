"""``blsnb evaluate``: a repository's model on a data set."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from blsnb.command.arguments import CommandError, Parser
from blsnb.command.repository_server import serving
from blsnb.errors import BlsnbError

if TYPE_CHECKING:
    from blsnb.evaluation.result.evaluation import Evaluation
    from blsnb.evaluation.verdict import Requirements

_ABOUT = """\
Send each row of a data set to a model of a repository, and measure the answers. The
result is on stdout; progress on stderr, if that is a terminal.
"""
_NOTES = """\
ROWS is a .parquet or .npz file, a run or a recording, or module:function, a function
of a module beside you that returns rows: dicts of inputs and labels.

Exit status: 0 all rows succeeded and all limits are reached; 1 a row or a metric
failed, or a limit is not reached; 2 the evaluation could not be made; 130 Ctrl-C
ended it.
"""
_Value = TypeVar("_Value")
_INTERRUPTED = 130
_MAX_ROWS = 20
"""Maximum number of rows listed for each reason."""


def flags() -> Parser:
    """Return the parser of the subcommand."""
    parser = Parser("evaluate", _ABOUT, _NOTES)
    add = parser.add_argument
    add("repository", metavar="REPOSITORY", help="a folder of models")
    add("name", metavar="NAME", help="the model")
    add("rows", metavar="ROWS", help="the data set")
    add(
        "--metric",
        action="append",
        default=[],
        metavar="[NAME=]MODULE:FUNCTION",
        help="a function f(row, outputs) that returns a number; may be repeated",
    )
    limit = "METRIC=NUMBER"
    for option, words in (("--at-least", "minimum"), ("--at-most", "maximum")):
        help_ = f"{words} of a metric's mean; may be repeated"
        add(option, action="append", default=[], metavar=limit, help=help_)
    add("--max-failed", type=int, default=0, metavar="N", help="allowed failed rows")
    add("--batch", type=int, default=1, metavar="N", help="rows in one request")
    add("--workers", type=int, metavar="N", help="processes that execute rows")
    add("--sequence", metavar="KEY", help="key of the rows' correlation id")
    add("--resume", type=Path, metavar="FILE", help="continue from this file")
    add("--json", action="store_true", help="print the result as JSON")
    parser.add_release()
    return parser


def run(words: Sequence[str]) -> int:
    """Evaluate, print the result, and return 1 if it is not good enough."""
    from blsnb.evaluation.verdict import Requirements, report

    given = flags().parse_args(words)
    metrics = _metrics(given.metric)
    required = Requirements(
        _limits("--at-least", given.at_least),
        _limits("--at-most", given.at_most),
        given.max_failed,
    )
    try:
        required.check(metrics)
        evaluation = _evaluated(given, metrics, required)
    except (ValueError, TypeError, ImportError) as error:
        raise CommandError(str(error)) from error
    except (BlsnbError, OSError, CommandError):
        raise
    except (Exception, SystemExit) as error:
        # Raised by a function of the user: its exit status would count as a result.
        raise CommandError(f"{type(error).__name__}: {error}") from error
    shortfalls = required.shortfalls(evaluation)
    if given.json:
        print(json.dumps(as_json(evaluation, shortfalls), indent=1, allow_nan=False))
    else:
        print(report(evaluation, shortfalls) if shortfalls else repr(evaluation))
    if evaluation.interrupted:
        return _INTERRUPTED
    return 1 if shortfalls else 0


def _evaluated(
    given: argparse.Namespace,
    metrics: Mapping[str, Callable[..., float]],
    required: Requirements,
) -> Evaluation:
    with serving(given) as server:
        return server.evaluate(
            given.name,
            _rows(given.rows),
            metrics=metrics,
            lower_is_better=[*required.at_most],
            sequence=given.sequence,
            batch=given.batch,
            workers=given.workers,
            resume=given.resume,
        )


def _rows(word: str) -> Any:
    """Return the path of a data set, or what a function returns."""
    if Path(word).exists() or ":" not in word:
        return word
    return _function(word)()


def _metrics(words: Sequence[str]) -> dict[str, Callable[..., float]]:
    return _distinct(
        map(_metric, words),
        "two metrics are named {!r}; expected --metric NAME=MODULE:FUNCTION with "
        "another name",
    )


def _distinct(pairs: Iterable[tuple[str, _Value]], refusal: str) -> dict[str, _Value]:
    """Return values by name; refuse a second value of a name."""
    found: dict[str, _Value] = {}
    for name, value in pairs:
        if name in found:
            raise CommandError(refusal.format(name))
        found[name] = value
    return found


def _metric(word: str) -> tuple[str, Callable[..., float]]:
    name, _, target = word.rpartition("=")
    return name or target.partition(":")[2], _function(target)


def _function(word: str) -> Callable[..., Any]:
    """Import a function; modules of the working folder come first."""
    module, colon, name = word.partition(":")
    if not (module and colon and name):
        raise CommandError(f"{word!r} is not valid; expected MODULE:FUNCTION")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        function = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        raise CommandError(f"{word}: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise CommandError(f"{word} is {function!r:.60}; expected a function")
    return function  # type: ignore[no-any-return]


def _limits(option: str, words: Sequence[str]) -> dict[str, float]:
    refusal = f"{option} has two limits of {{!r}}; expected one"
    return _distinct((_limit(option, each) for each in words), refusal)


def _limit(option: str, word: str) -> tuple[str, float]:
    name, _, number = word.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise CommandError(
            f"{option} {word} is not valid; expected METRIC=NUMBER, such as iou=0.8"
        ) from None


def as_json(evaluation: Evaluation, shortfalls: Sequence[str]) -> dict[str, Any]:
    """Return an evaluation as JSON values; NaN is None."""
    from blsnb.evaluation.verdict import failures, worst_rows

    latency = evaluation.latency._asdict()
    return {
        "model": evaluation.model_name,
        "rows": len(evaluation),
        "failed": len(evaluation.errors),
        "interrupted": evaluation.interrupted,
        "duration_s": evaluation.duration_s,
        "latency_us": {
            name.removesuffix("_us"): _finite(us) for name, us in latency.items()
        },
        "calls": dict(evaluation.calls),
        "metrics": {
            name: {
                **{key: _finite(x) for key, x in metric.interval._asdict().items()},
                "failed": len(metric.errors),
                "worst": [row for row, _ in worst_rows(metric, evaluation)[:_MAX_ROWS]],
            }
            for name, metric in evaluation.metrics.items()
        },
        "failures": [
            {"code": code, "error": text, "rows": len(rows), "first": rows[:_MAX_ROWS]}
            for (code, text), rows in failures(evaluation).items()
        ],
        "shortfalls": list(shortfalls),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
