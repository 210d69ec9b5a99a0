"""Settings of the kernel: displays and the default server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_WHOLE = ("log_verbose", "trace_budget_bytes", "keep_calls", "keep_runs")
_TEXTS: dict[str, tuple[Any, str]] = {
    "triton_release": (str | None, 'a string such as "24.10"'),
    "trace_level": (str, "'tensors', 'timestamps' or 'off'"),
}
"""Types and valid values of settings."""


@dataclass
class Options:
    """Settings that can be changed at any time.

    The default server reads its settings when it starts, at its first use. A setting
    that changes later applies to the next default server, and a warning says so.
    """

    show: bool = True
    """Whether a finished run is displayed at the end of its cell."""
    notes: bool = True
    """Whether runs have notes on probable mistakes that Triton accepts."""
    static: str = ""
    """``"png"`` adds a picture to displayed runs, for LaTeX and PDF."""
    embed_previews: bool = True
    """Whether a saved notebook has previews of tensors besides their statistics."""
    log_verbose: int = 0
    """1 or more to show the lines of ``pb_utils.Logger.log_verbose``."""
    hang_notice_s: float = 10.0
    """Seconds after which a long wait that may be legal is reported."""
    model_repository: Any = None
    """Folder or folders of models that the default server reads."""
    triton_release: str | None = None
    """Release of Triton to follow, such as ``"24.10"``; None for the newest known."""
    trace_level: str = "tensors"
    """``"tensors"``, ``"timestamps"`` or ``"off"``."""
    trace_budget_bytes: int = 256 << 20
    """Maximum number of bytes of tensor values that the trace keeps."""
    keep_calls: int = 10_200
    """Maximum number of calls kept one by one, in all runs; newest runs first."""
    keep_runs: int = 50
    """Maximum number of runs kept. ``run.keep()`` exempts one from these limits."""
    runtime: Any = "auto"
    """``"auto"``, ``"numpy"``, ``"cupy"`` or ``"simulated"``: memory for tensors."""
    read_limit_bytes: int | None = None
    """Maximum bytes of memory for reading a file or a compressed body; None for 64
    times its size, at least 1 MiB and at most 256 MiB."""
    hostile_placement: int | None = None
    """Seed for moving tensors between host and device at random; None not to."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).__dataclass_fields__:
            known = ", ".join(type(self).__dataclass_fields__)
            raise AttributeError(f"unknown option {name!r}; the options are {known}")
        if value is not getattr(type(self), name):
            check_option(name, value)
        super().__setattr__(name, value)

    @contextlib.contextmanager
    def using(self, **settings: Any) -> Iterator[Options]:
        """Change settings for the time of a ``with`` block.

        ``with blsnb.options.using(show=False):`` runs requests without their views.

        Parameters
        ----------
        settings
            Values by the names of options.

        Raises
        ------
        AttributeError
            An option is unknown.
        TypeError, ValueError
            A setting is not valid.
        """
        before = {name: vars(self)[name] for name in settings if name in vars(self)}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            vars(self).update(before)


def check_option(name: str, value: Any) -> None:
    """Refuse an invalid setting; `blsnb.Server` has the same check.

    Raises
    ------
    TypeError, ValueError
        Names of levels and runtimes are checked when a server starts.
    """
    # Deferred: most notebooks keep the defaults.
    from blsnb import arguments

    if name in ("show", "notes", "embed_previews"):
        arguments.check_flags(**{name: value})
    elif name == "hang_notice_s":
        arguments.check_numbers(**{name: value})
    elif name in _WHOLE:
        arguments.check_whole(**{name: value})
    elif name == "read_limit_bytes":
        arguments.bytes_of(**{name: value})
    elif name == "model_repository":
        arguments.check_folders(**{name: value})
    elif name in _TEXTS:
        arguments.check_type(name, value, *_TEXTS[name])
    elif name == "static" and (not isinstance(value, str) or value not in ("", "png")):
        raise ValueError(
            f"static={value!r} is not valid; expected 'png', or '' for none"
        )


options = Options()
