"""Elements of an SVG picture, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from blsnb.printable import printable

# The light colours of the view: without a style sheet, the picture is a light card.
COLOURS = {
    "bg2": "#f6f7f9",
    "card": "#ffffff",
    "fg": "#1c2128",
    "fg2": "#57606a",
    "fg3": "#818b98",
    "line": "#d8dee4",
    "line2": "#eceff2",
    "queue": "#c27c00",
    "input": "#4a9bd3",
    "infer": "#1b4f93",
    "output": "#12866a",
    "error": "#b42318",
    "running": "#7a5cc9",
}
THEMED = "blsnb-picture"
"""Class of the pictures that follow their page's theme."""
DARK = {
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
_DARK_PAGES = (
    '[data-jp-theme-light="false"]',
    '[data-vscode-theme-kind="vscode-dark"]',
    '[data-vscode-theme-kind="vscode-high-contrast"]',
    'html[theme="dark"]',
    '[data-theme="dark"]',
)
"""Pages that say that they are dark: JupyterLab, VS Code, Colab, documentation."""
FONT = "system-ui,Segoe UI,DejaVu Sans,sans-serif"

Value = str | float


def number(value: float) -> str:
    """Return a coordinate with a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def tag(name: str, inner: str = "", /, **attributes: Value) -> str:
    """Return an element; ``_`` in an attribute's name stands for ``-``."""
    parts = [name]
    for key, value in attributes.items():
        text = value if isinstance(value, str) else number(value)
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{escape(text)}"')
    opening = " ".join(parts)
    return f"<{opening}>{inner}</{name}>" if inner else f"<{opening}/>"


def rect(
    x: float, y: float, width: float, height: float, fill: str, /, **more: Value
) -> str:
    """Return a rectangle in a colour of the palette."""
    box = {"x": x, "y": y, "width": width, "height": height}
    return tag("rect", **box, fill=COLOURS[fill], **more)


def boxes(
    places: Iterable[tuple[float, float, float, float]], fill: str, **more: Value
) -> str:
    """Return many rectangles of one colour as a single short path."""
    outline = "".join(
        f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h-{number(width)}z"
        for x, y, width, height in places
    )
    return tag("path", d=outline, fill=COLOURS[fill], **more) if outline else ""


def text(x: float, y: float, content: str, /, **more: Value) -> str:
    """Return one line of escaped, visible text."""
    return tag("text", spelled(content), x=x, y=y, **more) if content else ""


def small(x: float, y: float, content: str) -> str:
    """Return one line of small grey text."""
    return text(x, y, content, font_size=10.5, fill=COLOURS["fg2"])


def tspan(content: str, /, **more: Value) -> str:
    """Return a part of a line for a text element."""
    return tag("tspan", spelled(content), **more)


def spelled(content: str) -> str:
    """Return escaped, visible text."""
    return escape(printable(content))


def warning(x: float, y: float) -> str:
    """Return the sign of a failure, nine pixels wide, on a base line."""
    outline = f"M{number(x)} {number(y)}l4.5 -8.5l4.5 8.5z"
    mark = f"M{number(x + 4.5)} {number(y - 6)}v3m0 1v1"
    return tag("path", d=outline, fill=COLOURS["error"]) + tag(
        "path", d=mark, stroke=COLOURS["card"], stroke_width=1.2
    )


def dark_style(drawing: str) -> str:
    """Return the style sheet of a drawing of the class `THEMED`.

    A picture that is an image of its own is dark if its root has ``data-theme="dark"``.
    """
    pages = ",".join(f"{page} .{THEMED}" for page in _DARK_PAGES)
    values = "".join(f"--{name}:{colour};" for name, colour in DARK.items())
    rules = "".join(
        f'.{THEMED} [{key}="{colour}"]{{{key}:var(--{name},{colour})}}'
        for name, colour in COLOURS.items()
        for key in ("fill", "stroke")
        if f'{key}="{colour}"' in drawing
    )
    return tag(
        "style",
        f'{pages},.{THEMED}[data-theme="dark"]{{{values}fill:var(--fg)}}{rules}',
    )
