"""The dark colours of a picture that is part of a page, as a style sheet."""

from __future__ import annotations

from blsnb.views.pictures import svg

CLASS = "blsnb-picture"
"""Class of the pictures that follow their page's theme."""
COLOURS = {
    "bg2": "#181b20",
    "card": "#1d2127",
    "fg": "#e6e9ed",
    "fg2": "#a3adb8",
    "fg3": "#77818d",
    "line": "#31373f",
    "line2": "#23282e",
    "queue": "#f7c948",
    "input": "#a5dbfa",
    "infer": "#4593e0",
    "output": "#3ccf9b",
    "error": "#f2545b",
    "running": "#b79cf5",
}
_DARK = (
    '[data-jp-theme-light="false"]',
    '[data-vscode-theme-kind="vscode-dark"]',
    '[data-vscode-theme-kind="vscode-high-contrast"]',
    'html[theme="dark"]',
    '[data-theme="dark"]',
)
"""Pages that say that they are dark: JupyterLab, VS Code, Colab, documentation."""


def style(drawing: str) -> str:
    """Return the style sheet of a drawing of the class `CLASS`.

    A picture that is an image of its own is dark if its root has ``data-theme="dark"``.
    """
    pages = ",".join(f"{page} .{CLASS}" for page in _DARK)
    values = "".join(f"--{name}:{colour};" for name, colour in COLOURS.items())
    rules = "".join(
        f'.{CLASS} [{key}="{colour}"]{{{key}:var(--{name},{colour})}}'
        for name, colour in svg.COLOURS.items()
        for key in ("fill", "stroke")
        if f'{key}="{colour}"' in drawing
    )
    return svg.tag(
        "style", f'{pages},.{CLASS}[data-theme="dark"]{{{values}fill:var(--fg)}}{rules}'
    )
