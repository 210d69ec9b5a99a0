/** Phases of calls: a stacked bar and a table. */

import { h } from "../page/dom.ts";
import { percent, time } from "../page/format.ts";
import type { PhaseSums } from "../trace/phases.ts";
import type { Trace } from "../trace/trace.ts";
import { Flag, type Phase } from "../trace/wire.ts";

type Part = readonly [part: keyof PhaseSums, colour: string, text: string, phase: Phase | null];

/** Rows of the table: sum, colour, text, and column. */
const PARTS: readonly Part[] = [
  ["pre", "fg3", "before the queue", "pre_us"],
  ["queue", "queue", "queue", "queue_us"],
  ["input", "input", "compute input", "compute_input_us"],
  ["infer", "infer", "compute infer", "compute_infer_us"],
  ["child", "child", "in child calls", null],
  ["between", "fg3", "between steps", null],
  ["output", "output", "compute output", "compute_output_us"],
  ["post", "fg3", "to the response", "post_us"],
];
/** Phases that are left out below a share of the call. */
const MARGINAL = new Set<keyof PhaseSums>(["pre", "post"]);
const MARGINAL_SHARE = 0.005;
const COMPUTE = new Set<keyof PhaseSums>(["input", "infer", "output"]);
/** Minimum share of a part of the stacked bar, as wide as the gap beside it. */
const MIN_SHARE = 0.004;

/** Return stacked bar and table; for one call the table names phases without a record. */
export function phaseTable(trace: Trace, calls: readonly number[]): HTMLElement[] {
  if (calls.length === 1 && !reachedModel(trace, calls[0]))
    return [h("p", { class: "hint" }, "It reached no model: no phase was recorded.")];
  const sums = trace.phases(calls);
  const whole = Object.values(sums).reduce((sum, us) => sum + us, 0);
  const absent = (phase: Phase | null): boolean =>
    calls.length === 1 && phase !== null && Number.isNaN(trace.phase(calls[0], phase));
  const rows = PARTS.filter(([part]) => isListed(part, sums, whole)).map((part) =>
    row(part, absent(part[3]), sums[part[0]], whole),
  );
  return [stack(sums, whole), h("table", { class: "phases" }, h("tbody", {}, rows))];
}

function reachedModel(trace: Trace, call: number): boolean {
  const phases = PARTS.flatMap(([part, , , phase]) => (phase && !MARGINAL.has(part) ? [phase] : []));
  return trace.has(call, Flag.RUNNING) || phases.some((phase) => !isNaN(trace.phase(call, phase)));
}

function stack(sums: PhaseSums, whole: number): HTMLElement {
  const parts = PARTS.filter(([part]) => sums[part] > MIN_SHARE * whole).map(([part, colour]) =>
    h("i", { class: `back-${colour}`, style: { flex: `${sums[part] / whole} 1 0` } }),
  );
  const label = PARTS.map(([part, , text]) => `${text} ${time(sums[part])}`).join(", ");
  return h("div", { class: "stack", role: "img", "aria-label": label }, parts);
}

function row([part, colour, text]: Part, absent: boolean, us: number, whole: number): HTMLElement {
  const swatch = h("i", { class: `swatch ${part} back-${colour}` });
  const cells = absent
    ? [h("td", { class: "absent" }, "not recorded"), h("td")]
    : [h("td", {}, time(us)), h("td", {}, percent(us, whole))];
  return h("tr", {}, h("th", { class: "phase" }, swatch, text), cells);
}

function isListed(part: keyof PhaseSums, sums: PhaseSums, whole: number): boolean {
  if (part === "child" || part === "between") return sums[part] > 0;
  // An ensemble has no computation of its own.
  if (sums.between > 0 && COMPUTE.has(part)) return sums[part] > 0;
  return !MARGINAL.has(part) || sums[part] > MARGINAL_SHARE * whole;
}

/** Return the legend of the phases that bars are made of. */
export function phaseLegend(): HTMLElement[] {
  return ["queue", "input", "infer", "output"].map((phase) =>
    h("span", {}, h("i", { class: `swatch ${phase} back-${phase}` }), phase),
  );
}
