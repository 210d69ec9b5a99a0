/** Chips: short facts about calls, below their name. */

import { batchFacts } from "./batching.ts";
import { h } from "../page/dom.ts";
import { count, counted, time } from "../page/format.ts";
import type { Trace } from "../trace/trace.ts";
import { Flag } from "../trace/wire.ts";

/** A chip without text is left out. */
export type Chip = [text: string, kind?: string, meaning?: string];

export function chipList(chips: readonly Chip[]): HTMLElement {
  const shown = chips.filter(([text]) => text);
  return h(
    "div",
    { class: "chips" },
    shown.map(([text, kind = "", meaning]) =>
      h("span", { class: `chip ${kind}`, title: meaning ?? null }, text),
    ),
  );
}

/** Return duration, place, id and states of a call. */
export function chipsOf(trace: Trace, call: number): Chip[] {
  const { header, calls } = trace;
  const request = header.requests[trace.id(call)]?.request_id;
  return [
    [time(trace.duration[call])],
    ...placeOf(trace, call),
    [header.instances[calls.instance[call]] ?? ""],
    [`call ${trace.id(call)}`, "", callMeaning(trace, call)],
    [request ? `request ${request}` : "", "", "The request id, given by the caller."],
    ...statesOf(trace, call),
  ];
}

function callMeaning(trace: Trace, call: number): string {
  const id = trace.id(call);
  return `Number of the call in this run, in order of start: run.replay(${id}) repeats it.`;
}

/** Return the states of a call in one line, with the time of a stream's first response. */
export function inShort(trace: Trace, call: number): string {
  const [first] = trace.has(call, Flag.DECOUPLED) ? trace.responses(call) : [];
  const states = statesOf(trace, call).map(([text]) => text);
  if (first !== undefined) states.push(`the first after ${time(first)}`);
  return states.join(" · ");
}

function placeOf({ header, calls }: Trace, call: number): Chip[] {
  const { kind, version, backend, device } = header.models[calls.model[call]];
  if (kind === "span") return [["span"]];
  return [[backend], [device], [version === "" ? "" : `v${version}`]];
}

function statesOf(trace: Trace, call: number): Chip[] {
  const batch = batchFacts(trace, call)?.size ?? 0;
  const states: [boolean, string, string?][] = [
    [batch > 1, `batch of ${count(batch)}`],
    [trace.has(call, Flag.ASYNC), "async"],
    [trace.has(call, Flag.DECOUPLED), counted(trace.calls.responses[call], "response")],
    [trace.has(call, Flag.CACHE_HIT), "cache hit"],
    [trace.has(call, Flag.CANCELLED), "cancelled", "error"],
    [trace.has(call, Flag.RUNNING), "running", "running"],
    [trace.has(call, Flag.ERROR), "error", "error"],
  ];
  return states.filter(([is]) => is).map(([, text, kind]) => [text, kind]);
}
