/** The inspector's part about the baseline: durations side by side, and differences. */

import { total, type Comparison } from "../trace/comparison.ts";
import { deltaText, signOf, toneOf } from "../page/delta.ts";
import { h } from "../page/dom.ts";
import { count, time } from "../page/format.ts";
import type { PhaseSums } from "../trace/phases.ts";
import type { Trace } from "../trace/trace.ts";
import type { Change } from "../trace/header.ts";

/** Phases as in the table of a run. */
const NAMES: [keyof PhaseSums, string][] = [
  ["queue", "queue"],
  ["input", "compute input"],
  ["infer", "compute infer"],
  ["child", "in child calls"],
  ["between", "between steps"],
  ["output", "compute output"],
];
const ONLY_COUNTED = "are only counted in the baseline; the times are of the others.";
const SOMETIMES = new Set<keyof PhaseSums>(["child", "between"]);

/** Return the durations of calls beside those of their counterparts; nothing without a baseline. */
export function besideBaseline(trace: Trace, calls: readonly number[]): HTMLElement[] {
  const { comparison } = trace;
  if (!comparison) return [];
  const before = comparison.beforeAll(calls);
  const heading = h("h4", {}, "Compared with baseline");
  if (before.length === 0) return [heading, hint(nothingBeside(comparison, calls))];
  const { baseline } = comparison;
  const known = calls.filter((call) => !comparison.isCounted(call));
  const rows = [row("total", total(trace, known), total(baseline, before))];
  const [now, then] = [trace.phases(known), baseline.phases(before)];
  for (const [part, name] of NAMES)
    if (!SOMETIMES.has(part) || now[part] > 0 || then[part] > 0)
      rows.push(row(name, now[part], then[part]));
  const head = ["", "this", "baseline", "Δ"].map((text) => h("th", { scope: "col" }, text));
  const table = h(
    "table",
    { class: "phases beside" },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows),
  );
  return [heading, table, ...notes(comparison, calls, known).map(hint)];
}

/** Return why calls have no counterpart. */
function nothingBeside(comparison: Comparison, calls: readonly number[]): string {
  return calls.some((call) => comparison.isCounted(call))
    ? "The baseline only counts such calls: it was too long to keep all of them."
    : "New: the baseline has no such call.";
}

/** Return notes on calls that the table leaves out or that were not compared. */
function notes(
  comparison: Comparison,
  calls: readonly number[],
  known: readonly number[],
): string[] {
  const added = calls.filter((call) => comparison.isNew(call)).length;
  const counted = calls.length - known.length;
  const unknown = new Map<string, number>();
  for (const call of calls) {
    const why = comparison.unknown(call);
    if (why) unknown.set(why, (unknown.get(why) ?? 0) + 1);
  }
  return [
    ...(added ? [`${count(added)} of these calls are new.`] : []),
    ...(counted ? [`${count(counted)} of these calls ${ONLY_COUNTED}`] : []),
    ...[...unknown].map(([why, number]) =>
      calls.length === 1 ? `Not compared: ${why}.` : `${count(number)} not compared: ${why}.`,
    ),
  ];
}

function hint(text: string): HTMLElement {
  return h("p", { class: "hint" }, text);
}

/** Return the differences of inputs, outputs, responses and errors of a call. */
export function differences(trace: Trace, call: number): HTMLElement[] {
  const { comparison } = trace;
  const change = comparison?.change(call);
  if (!comparison || !change) {
    const changed = comparison?.changed.has(call) ?? false;
    return changed ? [hint("It differs; how is not in this document.")] : [];
  }
  const items = [...errors(change), ...responses(change), ...said(change), ...tensors(change)];
  const heading = h("h4", {}, "Differences", h("span", {}, count(items.length + change.more)));
  const more = change.more ? [hint(`… ${count(change.more)} more`)] : [];
  return [heading, ...items, ...more];
}

/** Return the facts about calls that only the baseline has. */
export function missingCalls(baseline: Trace, calls: readonly number[]): HTMLElement[] {
  const [call] = calls;
  const many = calls.length > 1 ? ` ×${count(calls.length)}` : "";
  const rows: [string, number][] = [["total", total(baseline, calls)]];
  const sums = baseline.phases(calls);
  for (const [part, name] of NAMES)
    if (!SOMETIMES.has(part) || sums[part] > 0) rows.push([name, sums[part]]);
  const error = baseline.header.errors[baseline.id(call)];
  return [
    h("div", { class: "breadcrumb" }, "in the baseline only"),
    h("h3", {}, `${baseline.name(call)}${many}`),
    hint("Missing: this run did not make the call again."),
    h(
      "table",
      { class: "phases" },
      h(
        "tbody",
        {},
        rows.map(([name, us]) => h("tr", {}, h("th", {}, name), h("td", {}, time(us)))),
      ),
    ),
    ...(error ? [h("div", { class: "error", role: "note" }, h("div", { class: "code" }, error))] : []),
  ];
}

function row(name: string, now: number, before: number): HTMLElement {
  const tone = toneOf(signOf(now, before));
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, name),
    h("td", {}, time(now)),
    h("td", {}, time(before)),
    h("td", { class: `tone-${tone}` }, deltaText(now, before)),
  );
}

function errors({ error }: Change): HTMLElement[] {
  if (!error) return [];
  const [now, before] = error;
  return [item("error", now ? `now: ${now}` : "none now", before ? `before: ${before}` : "none before")];
}

function responses({ responses: sent }: Change): HTMLElement[] {
  return sent ? [item("responses", `${count(sent[0])}, before ${count(sent[1])}`)] : [];
}

function said({ request = [] }: Change): HTMLElement[] {
  return request.map(([name, now, before]) =>
    item(name, now ? `now: ${now}` : "none now", before ? `before: ${before}` : "none before"),
  );
}

function tensors(change: Change): HTMLElement[] {
  return change.tensors.map(([role, name, response, words]) => {
    const number = response > 0 ? ` #${response + 1}` : "";
    return item(`${role === "output" ? "←" : "→"} ${name}${number}`, words);
  });
}

function item(name: string, ...lines: string[]): HTMLElement {
  const texts = lines.map((line) => h("div", {}, line));
  return h("div", { class: "difference" }, h("b", { class: "code" }, name), texts);
}
