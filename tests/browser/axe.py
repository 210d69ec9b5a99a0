"""axe-core: which rules of WCAG a view breaks."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

FILE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# axe does not judge the contrast of a text that another element overlaps.
_CHECK = """async ([within, options]) => {
    const hosts = [...document.querySelectorAll(`${within}, ${within} *`)];
    const bars = hosts.flatMap(
        host => [...host.shadowRoot?.querySelectorAll(".bars") ?? []]);
    bars.forEach(each => each.style.visibility = "hidden");
    const { violations } = await axe.run(within, options);
    bars.forEach(each => each.style.visibility = "");
    return violations;
}"""


def violations(
    page: Page, axe: str, within: str = ".blsnb-run"
) -> list[tuple[str, list[str]]]:
    """Rules that are broken, with the elements that break them."""
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(axe)
    found = page.evaluate(
        _CHECK,
        [within, {"runOnly": _RULES, "resultTypes": ["violations"]}],
    )
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
