"""Settings of the kernel: what is shown, and what the default server is like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Options:
    """Settings that a user may change at any time.

    Settings of the default server count when it starts, which is at the first
    use of it; one that is changed later counts for the next one, with a warning.
    """

    show: bool = True
    """Whether a finished run shows itself at the end of its cell."""
    notes: bool = True
    """Whether runs carry notes of what Triton lets pass and a reviewer would not."""
    static: str = ""
    """``"png"`` adds a picture for readers of LaTeX and PDF."""
    embed_previews: bool = True
    """Whether a saved notebook holds previews of tensors, not statistics alone."""
    log_verbose: int = 0
    """From 1 on, ``pb_utils.Logger.log_verbose`` is shown."""
    hang_notice_s: float = 10.0
    """Seconds after which a wait that may be legal is reported."""
    model_repository: Any = None
    """Model repositories on disk that the default server reads."""
    triton_release: str | None = None
    """Triton's release to agree with, such as ``"24.10"``."""
    trace_level: str = "tensors"
    """``"tensors"``, ``"timestamps"`` or ``"off"``."""
    trace_budget_bytes: int = 256 << 20
    """Bytes of tensor values that the trace keeps alive."""
    keep_runs: int = 50
    """Number of runs kept."""
    runtime: Any = "auto"
    """``"auto"``, ``"numpy"``, ``"cupy"`` or ``"simulated"``: where tensors may be."""
    read_limit_bytes: int | None = None
    """Bytes of memory that reading a file or a compressed body may use; None for 64
    times its size, at least 1 MiB and at most 256 MiB."""
    hostile_placement: int | None = None
    """A seed: tensors are moved between host and device at random, as Triton might."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).__dataclass_fields__:
            known = ", ".join(type(self).__dataclass_fields__)
            raise AttributeError(f"there is no option {name!r}; known are: {known}")
        super().__setattr__(name, value)


options = Options()
