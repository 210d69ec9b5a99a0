/** A border between panes that can be dragged, or moved with arrow keys. */

import { h } from "../page/dom.ts";
import { drag } from "../page/press.ts";

const KEY_STEP = 16;

export interface SplitterOptions {
  label: string;
  /** The direction in which the border moves. */
  axis: "x" | "y";
  /** Size of the pane, and its bounds. */
  size(): number;
  bounds(): [least: number, most: number];
  /** Whether the pane is behind the border, so that it shrinks when the border moves on. */
  behind: boolean;
  resize(size: number): void;
}

export function splitter(options: SplitterOptions): HTMLElement {
  const { label, axis, behind } = options;
  const orientation = axis === "x" ? "vertical" : "horizontal";
  const role = {
    role: "separator",
    tabindex: 0,
    "aria-label": label,
    "aria-orientation": orientation,
    "aria-valuenow": 0,
  };
  const element = h("div", { class: `splitter ${axis}`, ...role });
  const show = (): void =>
    element.setAttribute("aria-valuenow", String(Math.round(options.size())));
  const moveTo = (size: number): void => {
    const [least, most] = options.bounds();
    options.resize(Math.round(Math.max(least, Math.min(most, size))));
    show();
  };
  const along = (event: PointerEvent): number => (axis === "x" ? event.clientX : event.clientY);
  element.addEventListener("focus", show);
  element.addEventListener("pointerdown", (start) => {
    const from = options.size();
    drag(element, start, (event) =>
      moveTo(from + (along(event) - along(start)) * (behind ? -1 : 1)),
    );
  });
  element.addEventListener("keydown", (event) => {
    const [less, more] = axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    moveTo(options.size() + (event.key === more ? KEY_STEP : -KEY_STEP) * (behind ? -1 : 1));
  });
  return element;
}
