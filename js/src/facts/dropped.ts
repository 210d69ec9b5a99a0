/** Calls and values that are no longer kept. */

import { h } from "../page/dom.ts";
import { count } from "../page/format.ts";
import type { Trace } from "../trace/trace.ts";
import type { Drops } from "../trace/header.ts";

/** Return the facts about a call that is no longer kept: the limit that dropped it. */
export function droppedCall(trace: Trace, id: number): HTMLElement[] {
  return [
    h("div", { class: "breadcrumb" }, "no longer kept"),
    h("h3", {}, `call ${id}`),
    h("p", { class: "note" }, whyDropped(trace, id)),
  ];
}

function whyDropped({ header, n }: Trace, id: number): string {
  const { calls = n, dropped } = header.run;
  const drop = dropped?.calls;
  if (drop && id <= drop.last) return `Call ${id} is no longer kept: ${drop.because}.`;
  return `Call ${id} is only counted: this view shows ${count(n)} of ${count(calls)} calls one by one.`;
}

/** Return a notice for dropped calls, and one for dropped values. */
export function notices(dropped: Drops | undefined): HTMLElement[] {
  const drops = [dropped?.calls, dropped?.values];
  return drops.flatMap((drop) =>
    drop ? [h("p", {}, h("b", {}, drop.notice), `: ${drop.because}.`)] : [],
  );
}

/** Return a note on missing values of a call. */
export function lacking(words: string | undefined): HTMLElement[] {
  return words ? [h("p", { class: "note lacks" }, `${words[0].toUpperCase()}${words.slice(1)}.`)] : [];
}
