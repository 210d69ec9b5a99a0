/** Copies between host and device, and the use of a device. */

import { h } from "../page/dom.ts";
import { bytes, count, time } from "../page/format.ts";
import { factGrid } from "./tensorfacts.ts";
import type { Trace } from "../trace/trace.ts";
import type { Copy } from "../trace/header.ts";

/** Maximum number of listed copies. */
const MAX_LISTED = 12;

/** Return the sums of the copies of calls. Pure. */
export function copied(trace: Trace, calls: readonly number[]): { bytes: number; us: number } {
  const sums = { bytes: 0, us: 0 };
  for (const call of calls) {
    sums.bytes += trace.calls.copy_bytes[call];
    sums.us += trace.calls.copy_us[call];
  }
  return sums;
}

/** Return the facts about devices; nothing for calls on the host. */
export function deviceWork(trace: Trace, calls: readonly number[]): HTMLElement[] {
  const sums = copied(trace, calls);
  const [call] = calls;
  const single = calls.length === 1;
  const use = single ? trace.header.device_use[trace.id(call)] : undefined;
  if (sums.us === 0 && sums.bytes === 0 && !use) return [];
  const facts: [string, string][] = [];
  if (use) {
    const [, us, inUse, peak] = use;
    facts.push(["compute", time(us)], ["in use", bytes(inUse)], ["peak", bytes(peak)]);
  }
  if (sums.us || sums.bytes) facts.push(["copied", bytes(sums.bytes)], ["in", time(sums.us)]);
  const copies = single ? (trace.header.copies[trace.id(call)] ?? []) : [];
  return [
    h("h4", {}, "Device", h("span", {}, use?.[0] ?? "copies")),
    factGrid(facts),
    ...copies.slice(0, MAX_LISTED).map(row),
    ...(copies.length > MAX_LISTED
      ? [h("p", { class: "reason" }, `… ${count(copies.length - MAX_LISTED)} more`)]
      : []),
  ];
}

function row([, us, tensor, size, source, target, hostile]: Copy): HTMLElement {
  const why = hostile ? ", by hostile placement" : "";
  const words = `${tensor}: ${source} → ${target}, ${bytes(size)} in ${time(us)}${why}`;
  return h("p", { class: "reason" }, words);
}
