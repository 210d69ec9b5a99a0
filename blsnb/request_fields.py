"""The fields of a request: one value from the client's call to the view.

Add a new request field to `RequestFields` and `RequestOptions`: other classes hold
these values as a whole.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import textwrap
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias, TypedDict, TypeVar

from blsnb.arguments import check_flags, check_type, did_you_mean, plain, refuse
from blsnb.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
Parameter: TypeAlias = bool | int | float | str
Parameters: TypeAlias = dict[str, Parameter]
"""Custom parameters of a request or response, by name."""

# Plain integers: `&` of an `enum.IntFlag` costs a call of Python code.
SEQUENCE_START = 1
"""Bit of a request's flags: the first request of its sequence."""
SEQUENCE_END = 2
"""Bit of a request's flags: the last request of its sequence."""
_UNSIGNED = 2**64
_SIGNED = 2**63


class RequestFields(NamedTuple):
    """The fields of a request besides its model and its tensors."""

    version: int = -1
    """The model's version; -1 leaves the choice to the server."""
    correlation_id: int | str = 0
    """Id of its sequence; 0 or empty for none."""
    flags: int = 0
    """`SEQUENCE_START` and `SEQUENCE_END`."""
    timeout_us: int = 0
    """Maximum time in the scheduler's queue in microseconds; 0 for no timeout."""
    priority: int = 0
    """Priority level; 1 is the highest, 0 is the model's default."""
    parameters: tuple[tuple[str, Parameter], ...] = ()
    """Custom parameters by name."""
    request_id: str = ""

    @property
    def prefix(self) -> str:
        """The beginning of Triton's messages about the request."""
        return f"[request id: {self.request_id or '<id_unknown>'}] "

    @property
    def reserved(self) -> Parameters:
        """The parameters in which network clients send some fields.

        References
        ----------
        server: docs/protocol/extension_{parameters,sequence,schedule_policy}.md
        """
        found: Parameters = {}
        if self.correlation_id:
            found["sequence_id"] = self.correlation_id
            found["sequence_start"] = bool(self.flags & SEQUENCE_START)
            found["sequence_end"] = bool(self.flags & SEQUENCE_END)
        if self.timeout_us:
            found["timeout"] = self.timeout_us
        if self.priority:
            found["priority"] = self.priority
        return found

    @property
    def options(self) -> dict[str, Any]:
        """The options of ``infer`` for these fields, without defaults."""
        given = {
            "parameters": dict(self.parameters),
            "request_id": self.request_id,
            "correlation_id": self.correlation_id,
            "sequence_start": bool(self.flags & SEQUENCE_START),
            "sequence_end": bool(self.flags & SEQUENCE_END),
            "priority": self.priority,
            "timeout_us": self.timeout_us,
        }
        # 0 is a version.
        version = {} if self.version == -1 else {"version": self.version}
        return version | {name: value for name, value in given.items() if value}


def spelled(options: Mapping[str, Any]) -> str:
    """Return options as Python arguments, such as ``priority=1, timeout_us=5``."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


PLAIN = RequestFields()
"""The fields of most requests."""


def received_fields(
    version: int, request_id: str, reserved: Mapping[str, Any], custom: Parameters
) -> RequestFields:
    """Return the fields of a request of a network client.

    Parameters
    ----------
    reserved
        Those of the client's parameters that are fields; see `RequestFields.reserved`.
    custom
        Its other parameters.
    """
    get = reserved.get
    return RequestFields(
        version,
        get("sequence_id", 0),
        _flags(get("sequence_start"), get("sequence_end")),
        get("timeout", 0),
        get("priority", 0),
        tuple(custom.items()),
        request_id,
    )


class RequestOptions(TypedDict, total=False):
    """Options of a request: of ``infer``, its siblings, ``bench`` and ``compare``.

    Parameters
    ----------
    outputs
        Names of the requested outputs; None for all.
    version
        Version of the model; None lets the server choose, usually the newest one.
    parameters
        Custom parameters of the request: a bool, int, float or str by name.
    request_id
        Id of the request, which the model and the trace see.
    correlation_id
        Id of the sequence that the request belongs to; 0 or ``""`` for none.
    sequence_start, sequence_end
        Whether the request is the first, or the last, of its sequence.
    priority
        Priority level for the model's scheduler; 0 for the default, 1 is the
        highest.
    timeout_us
        Maximum time in the scheduler's queue, in microseconds; 0 for the model's
        default.
    client_timeout_s
        Seconds until the client gives up and gets ``DEADLINE_EXCEEDED``. In the
        model ``is_cancelled()`` then returns True; the model continues on a worker
        thread. None to wait indefinitely.
    show
        Whether a notebook shows the run below its cell.
    """

    outputs: Sequence[str] | None
    version: int | None
    parameters: Mapping[str, Parameter] | None
    request_id: str
    correlation_id: int | str
    sequence_start: bool
    sequence_end: bool
    priority: int
    timeout_us: int
    client_timeout_s: float | None
    show: bool


_DEFAULTS = RequestOptions(
    outputs=None,
    version=None,
    parameters=None,
    request_id="",
    correlation_id=0,
    sequence_start=False,
    sequence_end=False,
    priority=0,
    timeout_us=0,
    client_timeout_s=None,
    show=True,
)


@functools.cache
def _options() -> list[inspect.Parameter]:
    types = typing.get_type_hints(RequestOptions)
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=types[name],
        )
        for name, default in _DEFAULTS.items()
    ]


def takes_request_options(function: F) -> F:
    """Add the request options to the signature and docstring of a function.

    Type checkers read them from ``**options: Unpack[RequestOptions]``; help, completion
    and `inspect.signature` need this decorator. It replaces the docstring's entry
    ``**options`` by those of `RequestOptions`.
    """
    shown = inspect.signature(function)
    own = list(shown.parameters.values())[:-1]
    function.__signature__ = shown.replace(  # type: ignore[attr-defined]
        parameters=[*own, *_options()]
    )
    if function.__doc__:
        function.__doc__ = re.sub(
            _ENTRY,
            lambda entry: textwrap.indent(_entries(), entry[1]),
            function.__doc__,
        )
    return function


_ENTRY = r"(?m)^( *)\*\*options\n.+\n"
_PROFILING = ("infer", "async_infer", "stream", "async_stream")
"""Methods that have the option ``profile``."""


@functools.cache
def _entries() -> str:
    return inspect.cleandoc(RequestOptions.__doc__ or "").partition("----\n")[2] + "\n"


def plain_options(options: RequestOptions) -> RequestOptions:
    """Return options with Python's numbers for those of NumPy, such as of a column."""
    found = {name: plain(value) for name, value in options.items()}
    if getattr(found.get("outputs"), "ndim", 0) == 1:
        found["outputs"] = found["outputs"].tolist()
    if isinstance(found.get("parameters"), Mapping):
        items = found["parameters"].items()
        found["parameters"] = {name: plain(value) for name, value in items}
    return typing.cast(RequestOptions, found)


def fields_of(options: RequestOptions, method: str = "infer") -> RequestFields:
    """Return the fields for options that a client passed to a method.

    Raises
    ------
    InputError
        An option is unknown, or its value has another type or is out of range.
    """
    __tracebackhide__ = True
    if not options:
        return PLAIN
    if unknown := sorted(options.keys() - _DEFAULTS.keys()):
        known = [*_DEFAULTS, *(["profile"] if method in _PROFILING else [])]
        advice = did_you_mean(unknown[0], known)
        raise InputError(
            f"{method}() has no option {', '.join(map(repr, unknown))}; its options "
            f"for a request are {', '.join(known)}. {advice}".rstrip()
        )
    given: RequestOptions = {**_DEFAULTS, **options}
    _check(given)
    version = given["version"]
    return RequestFields(
        -1 if version is None else version,
        given["correlation_id"],
        _flags(given["sequence_start"], given["sequence_end"]),
        given["timeout_us"],
        given["priority"],
        tuple((given["parameters"] or {}).items()),
        given["request_id"],
    )


def _flags(start: object, end: object) -> int:
    return SEQUENCE_START * bool(start) | SEQUENCE_END * bool(end)


expect = functools.partial(check_type, error=InputError)
"""Refuses an argument of a request that has another type."""


def _check(given: RequestOptions) -> None:
    __tracebackhide__ = True
    _expect_text("request_id", given["request_id"])
    expect("version", given["version"], int | None, "a number")
    expect("show", given["show"], bool, "True or False")
    check_flags(
        InputError,
        sequence_start=given["sequence_start"],
        sequence_end=given["sequence_end"],
    )
    correlation_id = given["correlation_id"]
    expect("correlation_id", correlation_id, int | str, "a number or string")
    _expect_text("correlation_id", str(correlation_id))
    numbers = {
        "priority": given["priority"],
        "timeout_us": given["timeout_us"],
        "correlation_id": 0 if isinstance(correlation_id, str) else correlation_id,
    }
    for name, value in numbers.items():
        expect(name, value, Integral, "a number")
        if not 0 <= value < _UNSIGNED:
            refuse(name, value, "a number from 0 to 2**64 - 1", InputError)
    expect("parameters", given["parameters"], Mapping | None, "a dict")
    for name, item in (given["parameters"] or {}).items():
        _check_parameter(name, item)


def _check_parameter(name: object, item: object) -> None:
    __tracebackhide__ = True
    _expect_text("name of a parameter", name)
    what, wanted = f"parameters[{name!r}]", "a bool, a number or a string"
    expect(what, item, bool | int | float | str, wanted)
    if isinstance(item, str):
        _expect_text(what, item)
    if isinstance(item, int) and not -_SIGNED <= item < _SIGNED:
        refuse(what, item, "a number from -2**63 to 2**63 - 1", InputError)


def _expect_text(name: str, value: Any) -> None:
    """Refuse what the text of a message cannot hold."""
    __tracebackhide__ = True
    expect(name, value, str, "a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(name, value, "no half of a surrogate pair", InputError)


def check_request(model_name: object, inputs: object, options: RequestOptions) -> None:
    """Check the arguments of a request that are not among its fields.

    Raises
    ------
    InputError
        An argument has another type.
    """
    __tracebackhide__ = True
    expect("model_name", model_name, str, "a string")
    expect("inputs", inputs, Mapping, "a dict of names and values")
    assert isinstance(inputs, Mapping)
    for name in inputs:
        if not isinstance(name, str):
            refuse("inputs", inputs, "a dict whose keys are strings", InputError)
    if not options:
        return
    outputs = options.get("outputs")
    if isinstance(outputs, str):
        raise InputError(
            f"outputs must be a list of names, not the string {outputs!r}; "
            f"write outputs=[{outputs!r}]"
        )
    expect("outputs", outputs, Collection | None, "a list of names")
    if outputs is not None and not all(isinstance(name, str) for name in outputs):
        refuse("outputs", outputs, "a list of names", InputError)
    check_timeout(options.get("client_timeout_s"))


def check_timeout(seconds: float | None) -> None:
    """Refuse a ``client_timeout_s`` that is not a number of seconds."""
    __tracebackhide__ = True
    expect("client_timeout_s", seconds, int | float | None, "seconds")
    # Neither NaN nor an integer that no float holds.
    if seconds is not None and not (seconds < _SIGNED or seconds == math.inf):
        refuse("client_timeout_s", seconds, "seconds", InputError)
