"""``blsnb watch``: the requests of a real Triton server in a terminal."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.command.arguments import CommandError, Parser

if TYPE_CHECKING:
    from blsnb.watch.listing import Filter
    from blsnb.watch.watch import Watch

_ABOUT = """\
Receive the OpenTelemetry spans of a real Triton server, and list its requests, until
Ctrl-C ends it. With FILE, list the requests in the file that a Collector's file
exporter writes as JSON.
"""
_INTERVAL_S = 0.5
_MAX_SHOWN = 100
"""Maximum number of requests of a file that are printed."""


def flags() -> Parser:
    """Return the parser of the subcommand."""
    from blsnb.magics.watching.watch import add_options

    parser = Parser("watch", _ABOUT)
    add_options(parser)
    parser.add_argument(
        "--run", metavar="ID", help="with FILE: show one request as a tree of calls"
    )
    return parser


def run(words: Sequence[str]) -> int:
    """List the requests of a server or of a file."""
    from blsnb.magics.watching.watch import filter_of, opened, set_tracing

    given = flags().parse_args(words)
    chosen = filter_of(given)
    if given.run is not None and given.file is None:
        raise CommandError("--run needs FILE")
    try:
        if tracing := set_tracing(given):
            print(tracing)
        watch = opened(given)
    except ValueError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(error.strerror or str(error)) from error
    with watch:
        if given.file is not None:
            _print_file(watch, chosen, given)
        else:
            _follow(watch, chosen)
    return 0


def _print_file(watch: Watch, chosen: Filter, given: argparse.Namespace) -> None:
    from blsnb.views.tree import tree
    from blsnb.watch.listing import table

    if given.run is not None:
        print(tree(watch.run(given.run).trace))
        return
    found = watch.listing(chosen)
    print(f"{Path(given.file).name}: {found}. {watch.counts}.\n")
    print("\n".join(table(found.requests[:_MAX_SHOWN])))
    if len(found.requests) > _MAX_SHOWN:
        print(f"… {len(found.requests) - _MAX_SHOWN:,} more")


def _follow(watch: Watch, chosen: Filter) -> None:
    """Print each request when it is complete; a summary at the end."""
    from blsnb.magics.watching.watch import instructions
    from blsnb.watch.listing import table

    assert watch.receiver is not None
    print(instructions(watch.receiver, watch.receiver.token), end="\n\n", flush=True)
    printed: set[str] = set()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(_INTERVAL_S)
            found = watch.listing(chosen).requests
            complete = [each for each in reversed(found) if each.is_complete]
            new = [each for each in complete if each.run_id not in printed]
            printed.intersection_update(each.run_id for each in found)
            printed.update(each.run_id for each in new)
            for line in table(new, head=False):
                print(line, flush=True)
    print(f"\n{watch.listing(chosen)}. {watch.counts}.")
