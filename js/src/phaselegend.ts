/** What the colours of bars mean, in their order. */

import { h } from "./dom.ts";

const PHASES = ["queue", "input", "infer", "output"] as const;

export function phaseLegend(): HTMLElement[] {
  return PHASES.map((phase) =>
    h("span", {}, h("i", { class: `swatch ${phase} back-${phase}` }), phase),
  );
}
