"""Sampled stacks of the model code of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from blsnb.errors import TraceError
from blsnb.printable import counted, printable
from blsnb.trace.facts import Profile

KIND = "samples"
"""Kind of the profile in a run file."""
_MAX_SIZE = 5_000_000
"""Maximum number of lines of all stacks of a file together."""
_MAX_NUMBER = 2**31
"""Limit of line numbers and of the number of samples; a page has 32-bit numbers."""


class StackFrame(NamedTuple):
    """A line of a stack."""

    function: str
    """Qualified name, such as ``"TritonPythonModel.execute"``."""
    file: str
    """Name of the file without its folder."""
    line: int
    is_own: bool = False
    """Whether it is a file of the model's folder."""


Stack = tuple[StackFrame, ...]
"""Lines from the model's hook to the innermost function."""


class Sampled(NamedTuple):
    """A stack that was found in a call."""

    call: int
    """Id of the call."""
    model: str
    """Name of the call's model."""
    stack: Stack
    samples: int


class SampleProfile:
    """Stacks of the model code of a run, sampled at equal intervals.

    A sample belongs to the innermost call whose model code was on its thread's stack.
    While a model waits for a BLS call there are no samples of it.

    Parameters
    ----------
    samples
        Stacks with their counts.
    interval_ns
        Mean time between two samples of a thread, in nanoseconds.
    wanted_ns
        The requested interval, in nanoseconds.
    """

    def __init__(
        self, samples: Iterable[Sampled], interval_ns: int, wanted_ns: int
    ) -> None:
        self.samples = tuple(samples)
        self.interval_ns = interval_ns
        self.wanted_ns = wanted_ns

    def __repr__(self) -> str:
        ms = self.interval_ns / 1e6
        text = f"{counted(self.count, 'sample')}, one every {ms:.2f} ms"
        return printable(f"<SampleProfile: {text}>")

    @property
    def count(self) -> int:
        """Number of samples."""
        return sum([sampled.samples for sampled in self.samples])

    def calls(self) -> dict[int, int]:
        """Return the number of samples by call id."""
        found: Counter[int] = Counter()
        for sampled in self.samples:
            found[sampled.call] += sampled.samples
        return dict(found)

    def models(self) -> dict[str, Counter[Stack]]:
        """Return the stacks of each model, those of all its calls merged."""
        found: defaultdict[str, Counter[Stack]] = defaultdict(Counter)
        for sampled in self.samples:
            found[sampled.model][sampled.stack] += sampled.samples
        return dict(found)

    def stored(self) -> Profile:
        """Return the profile as a run file has it."""
        frames: dict[StackFrame, int] = {}
        nodes: dict[tuple[int, int], int] = {}
        models: dict[str, int] = {}
        rows = [
            [
                sampled.call,
                models.setdefault(sampled.model, len(models)),
                _node(sampled.stack, frames, nodes),
                sampled.samples,
            ]
            for sampled in self.samples
        ]
        data = {
            "interval_ns": self.interval_ns,
            "wanted_ns": self.wanted_ns,
            "models": list(models),
            "frames": [[*frame[:3], int(frame.is_own)] for frame in frames],
            "stacks": [list(node) for node in nodes],
            "samples": rows,
        }
        return Profile(KIND, None, data, b"")


def read_samples(profile: Profile) -> SampleProfile:
    """Return the samples of a stored profile.

    Raises
    ------
    TraceError
        The profile is damaged.
    """
    try:
        return _read(profile.data)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise TraceError(f"the profile of the run is damaged: {error!r}") from error


def part_of_profile(profile: Profile, calls: Collection[int]) -> Profile:
    """Return the part of some calls of a stored profile.

    Raises
    ------
    TraceError
        The profile is damaged.
    """
    if profile.kind != KIND:
        return profile
    whole = read_samples(profile)
    part = [sampled for sampled in whole.samples if sampled.call in calls]
    return SampleProfile(part, whole.interval_ns, whole.wanted_ns).stored()


def _node(
    stack: Stack,
    frames: dict[StackFrame, int],
    nodes: dict[tuple[int, int], int],
) -> int:
    """Return the number of a stack's last node; -1 is the parent of the first."""
    node = -1
    for frame in stack:
        number = frames.setdefault(frame, len(frames))
        node = nodes.setdefault((node, number), len(nodes))
    return node


def _read(data: Mapping[str, Any]) -> SampleProfile:
    frames = [
        StackFrame(str(function), str(file), int(line), bool(is_own))
        for function, file, line, is_own in data["frames"]
    ]
    if not all(0 <= frame.line < _MAX_NUMBER for frame in frames):
        raise ValueError("a line is out of range")
    stacks: list[Stack] = []
    size = 0
    for parent, frame in data["stacks"]:
        if not (-1 <= parent < len(stacks) and 0 <= frame < len(frames)):
            raise ValueError("a stack has no such parent or frame")
        before = () if parent == -1 else stacks[parent]
        size += len(before) + 1
        if size > _MAX_SIZE:
            raise ValueError(f"its stacks have more than {_MAX_SIZE:,} lines")
        stacks.append((*before, frames[frame]))
    return SampleProfile(
        _rows(data["samples"], list(map(str, data["models"])), stacks),
        int(data["interval_ns"]),
        int(data["wanted_ns"]),
    )


def _rows(
    rows: Iterable[Any], models: list[str], stacks: list[Stack]
) -> Iterator[Sampled]:
    total = 0
    for call, model, node, count in rows:
        if not (0 <= node < len(stacks) and 0 <= model < len(models)):
            raise ValueError("a sample has no such stack or model")
        if count < 1:
            raise ValueError("a stack was sampled less than once")
        total += count
        if total >= _MAX_NUMBER:
            raise ValueError("there are too many samples")
        yield Sampled(int(call), models[model], stacks[node], int(count))


def own_line(stack: Stack) -> StackFrame:
    """Return the innermost line of the model's own files.

    The time in libraries belongs to the line of the model that called them.
    """
    own = [frame for frame in stack if frame.is_own]
    return own[-1] if own else stack[0]
