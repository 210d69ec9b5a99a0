"""``blsnb trace``: a recorded run, or a trace of a Triton server, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from blsnb.command.arguments import CommandError, Parser
from blsnb.magics.commands import trace_files

_ABOUT = """\
Show a file as a tree of calls: a .blsrun that run.save() wrote, or a trace that a
Triton server wrote with --trace-config. An option that names a FILE writes it there
instead.
"""
_MAX_SHOWN = 12
"""Maximum number of runs printed."""


def flags() -> Parser:
    """Return the parser of the subcommand."""
    parser = Parser("trace", _ABOUT)
    parser.add_argument("file", metavar="FILE", help="the run, or the trace")
    trace_files.add_options(parser)
    parser.add_read_limit()
    return parser


def run(words: Sequence[str]) -> int:
    """Print the runs of a file, or write them."""
    from blsnb.views.tree import tree

    given = flags().parse_args(words)
    try:
        found = trace_files.chosen(trace_files.read(given.file), given.run)
        traces = [each.trace for each in found]
        lines = trace_files.write(traces, given, given.file)
    except OSError as error:
        why = error.strerror or str(error)
        raise CommandError(f"{given.file!r} cannot be read: {why}") from error
    except trace_files.TraceFilesError as error:
        raise CommandError(str(error)) from error
    if lines:
        print("".join(f"{line}\n" for line in lines if line), end="")
        return 0
    for trace in traces[:_MAX_SHOWN]:
        print(f"{tree(trace)}\n")
    left_out = len(traces) - _MAX_SHOWN
    if left_out > 0:
        print(f"… {left_out:,} more; --run N shows the N-th.")
    return 0
