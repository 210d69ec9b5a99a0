"""What is refused before anything is loaded."""

from __future__ import annotations

from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.errors import ModelLoadError, WouldHang


def check_name(name: str) -> None:
    """Refuse to load what is no name.

    Raises
    ------
    ModelLoadError
        The name is empty, or a path; the text is Triton's.
    """
    text = ""
    if not name:
        text = "Model name cannot be empty. Please enter a valid name to deploy."
    elif "/" in name or name == "..":
        text = (
            f"invalid model name '{name}', model name must not contain path traversal "
            "characters"
        )
    if text:
        raise ModelLoadError(text, stage="poll")


def refuse_circle(name: str, root: RootRequest | None) -> None:
    """End a load that waits for itself.

    Raises
    ------
    Unwind, ModelLoadError
        Always.
    """
    hang = WouldHang(
        f"Triton would wait for ever: loading {name!r} calls initialize(), which "
        f"calls pb_utils.load_model({name!r}), which waits until {name!r} is loaded. "
        "Call load_model() in execute(), or load the models one after the other from "
        "outside."
    )
    if root is None:
        raise ModelLoadError(hang.message, code="INTERNAL")
    root.end(hang)
    raise Unwind
