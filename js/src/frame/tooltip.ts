/** The tooltip: a call or a model, and its phases. */

import { h } from "../page/dom.ts";
import { percent, time } from "../page/format.ts";
import type { Tip } from "../session/session.ts";
import type { PhaseSums } from "../trace/phases.ts";

const PHASES: [keyof PhaseSums, string][] = [
  ["queue", "queue"],
  ["input", "input"],
  ["infer", "infer"],
  ["child", "in child calls"],
  ["between", "between steps"],
  ["output", "output"],
];
const [BESIDE, MARGIN] = [14, 8];
const ERROR_LENGTH = 160;

export class Tooltip {
  readonly element = h("div", { class: "tip", role: "tooltip" });

  constructor() {
    this.hide();
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** Show a tip beside the pointer, inside the frame. */
  show(tip: Tip, { clientX, clientY }: MouseEvent, frame: Element): void {
    this.element.replaceChildren(...content(tip));
    this.element.hidden = false;
    const box = frame.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.element;
    const x = Math.min(clientX - box.left + BESIDE, box.width - offsetWidth - MARGIN);
    const [below, above] = [clientY - box.top + BESIDE, clientY - box.top - offsetHeight - MARGIN];
    const y = below + offsetHeight < box.height ? below : above;
    this.element.style.translate = `${Math.max(MARGIN, x)}px ${Math.max(MARGIN, y)}px`;
  }
}

function content({ title, phases, facts, error }: Tip): HTMLElement[] {
  const whole = Object.values(phases).reduce((sum, us) => sum + us, 0);
  const rows = PHASES.filter(([part]) => phases[part] > 0).flatMap(([part, text]) => [
    h("span", {}, h("i", { class: `swatch ${part} back-${part}` }), text),
    h("span", {}, time(phases[part])),
    h("span", { class: "share" }, percent(phases[part], whole)),
  ]);
  const parts = [h("b", {}, title)];
  if (facts) parts.push(h("div", { class: "share" }, facts));
  parts.push(h("div", { class: "shares" }, rows));
  if (error) parts.push(h("div", { class: "failed" }, error.slice(0, ERROR_LENGTH)));
  return parts;
}
