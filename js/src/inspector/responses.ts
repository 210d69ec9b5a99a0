/** Times of the responses of streams. */

import { h } from "../page/dom.ts";
import { counted, time } from "../page/format.ts";
import { factGrid } from "../facts/tensorfacts.ts";
import type { Trace } from "../trace/trace.ts";
import { Flag } from "../trace/wire.ts";

/** Times to the first response, and between responses, in microseconds, ascending. */
export interface ResponseTimes {
  streams: number;
  responses: number;
  first: number[];
  gaps: number[];
}

/** Return the times of streams that have responded. Pure. */
export function timesOf(trace: Trace, calls: readonly number[]): ResponseTimes {
  const times: ResponseTimes = { streams: 0, responses: 0, first: [], gaps: [] };
  for (const call of calls) {
    const sent = trace.responses(call);
    if (!trace.has(call, Flag.DECOUPLED) || sent.length === 0) continue;
    times.streams++;
    times.responses += trace.calls.responses[call];
    times.first.push(sent[0]);
    for (const gap of trace.gaps(call)) times.gaps.push(gap);
  }
  for (const each of [times.first, times.gaps]) each.sort((a, b) => a - b);
  return times;
}

/** Return the facts about responses; nothing if no call is a stream. */
export function responseTimes(trace: Trace, calls: readonly number[]): HTMLElement[] {
  const { streams, responses, first, gaps } = timesOf(trace, calls);
  if (streams === 0) return [];
  const heading = h("h4", {}, "Responses", h("span", {}, counted(responses, "response")));
  if (streams === 1) {
    const facts: [string, string][] = [["first", at(first, 0)]];
    if (gaps.length) facts.push(["gap", at(gaps, 0.5)], ["max gap", at(gaps, 1)]);
    return [heading, factGrid(facts)];
  }
  return [heading, ...spread("first", first), ...spread("between them", gaps)];
}

function spread(what: string, us: readonly number[]): HTMLElement[] {
  if (us.length === 0) return [];
  const facts: [string, string][] = [
    ["p50", at(us, 0.5)],
    ["p90", at(us, 0.9)],
    ["max", at(us, 1)],
  ];
  return [h("div", { class: "caption" }, h("span", {}, what)), factGrid(facts)];
}

function at(us: readonly number[], share: number): string {
  return time(us[Math.min(us.length - 1, Math.floor(share * us.length))]);
}
