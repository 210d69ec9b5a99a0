/** When the responses of streams came: the first one, and those that followed. */

import { h } from "./dom.ts";
import { counted, time } from "./format.ts";
import { factGrid } from "./tensors.ts";
import type { Trace } from "./trace.ts";
import { Flag } from "./wire.ts";

/** Time to the first response, and between one and the next, in microseconds, in order of size. */
export interface ResponseTimes {
  streams: number;
  responses: number;
  first: number[];
  gaps: number[];
}

/** Pure; of calls that are not streams, or have not answered yet, nothing is known. */
export function timesOf(trace: Trace, calls: readonly number[]): ResponseTimes {
  const times: ResponseTimes = { streams: 0, responses: 0, first: [], gaps: [] };
  for (const call of calls) {
    const sent = trace.responses(call);
    if (!trace.has(call, Flag.DECOUPLED) || sent.length === 0) continue;
    times.streams++;
    times.responses += trace.calls.responses[call];
    times.first.push(sent[0]);
    for (let k = 1; k < sent.length; k++) times.gaps.push(sent[k] - sent[k - 1]);
  }
  for (const each of [times.first, times.gaps]) each.sort((a, b) => a - b);
  return times;
}

/** Nothing where no call is a stream. */
export function responseTimes(trace: Trace, calls: readonly number[]): HTMLElement[] {
  const { streams, responses, first, gaps } = timesOf(trace, calls);
  if (streams === 0) return [];
  const number = h("span", {}, counted(responses, "response"));
  const facts: [string, string][] =
    streams === 1
      ? [["first", at(first, 0)]]
      : [
          ["first, p50", at(first, 0.5)],
          ["p90", at(first, 0.9)],
          ["max", at(first, 1)],
        ];
  if (gaps.length)
    facts.push([streams === 1 ? "then every" : "then, p50", at(gaps, 0.5)], ["longest", at(gaps, 1)]);
  return [h("h4", {}, "Responses", number), factGrid(facts)];
}

function at(us: readonly number[], share: number): string {
  return time(us[Math.min(us.length - 1, Math.floor(share * us.length))]);
}
