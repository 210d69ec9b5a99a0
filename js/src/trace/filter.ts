/** The filter: part of a name or device, a state, a bound, or a field of a request. Pure. */

import type { Parameter } from "./header.ts";
import type { Trace } from "./trace.ts";
import { Flag } from "./wire.ts";

const SCALES: Record<string, number> = { ns: 1e-3, us: 1, µs: 1, ms: 1e3, s: 1e6 };
const STATES = new Map([
  ["error", Flag.ERROR],
  ["stream", Flag.DECOUPLED],
  ["async", Flag.ASYNC],
  ["running", Flag.RUNNING],
  ["cancelled", Flag.CANCELLED],
  ["cached", Flag.CACHE_HIT],
]);

/** Return which calls match a text; null for an empty one. */
export function filterOf(text: string, trace: Trace): ((call: number) => boolean) | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const { comparison } = trace;
  if (comparison && wanted === "changed") return (call) => comparison.changed.has(call);
  if (comparison && wanted === "new") return (call) => comparison.isNew(call);
  if (wanted === "batched") return (call) => trace.calls.batch[call] > 1;
  const field = /^(corr|id|param):(.+)$/.exec(wanted);
  if (field) return fieldFilter(trace, field[1], field[2].trim());
  const flag = STATES.get(wanted);
  if (flag) return (call) => trace.has(call, flag);
  const bound = /^([<>])\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?$/.exec(wanted);
  if (bound) return bounded(trace, bound[1], Number(bound[2]) * SCALES[bound[3] ?? "ms"]);
  const named = trace.header.models.map(
    ({ device }, model) =>
      trace.names[model].toLowerCase().includes(wanted) || device.toLowerCase().includes(wanted),
  );
  return (call) => named[trace.calls.model[call]];
}

/** Match a correlation id, part of a request id, or a parameter of a request or response. */
function fieldFilter(trace: Trace, what: string, wanted: string): (call: number) => boolean {
  const { requests, response_parameters: responses } = trace.header;
  if (what === "corr") return (call) => is(requests[trace.id(call)]?.correlation_id, wanted);
  if (what === "id")
    return (call) => requests[trace.id(call)]?.request_id?.toLowerCase().includes(wanted) ?? false;
  const matches = ([name, text]: Parameter): boolean =>
    is(name, wanted) || `${name}=${text}`.toLowerCase() === wanted || is(`${name}=${unquoted(text)}`, wanted);
  return (call) => {
    const id = trace.id(call);
    const sent = (responses[id] ?? []).some(([, pairs]) => pairs.some(matches));
    return sent || (requests[id]?.parameters ?? []).some(matches);
  };
}

/** Whether a value is the wanted one, with quotes or without. */
function is(text: string | undefined, wanted: string): boolean {
  const found = text?.toLowerCase();
  return found !== undefined && (found === wanted || unquoted(found) === wanted);
}

function unquoted(text: string): string {
  return /^(['"]).*\1$/s.test(text) ? text.slice(1, -1) : text;
}

function bounded(trace: Trace, side: string, us: number): (call: number) => boolean {
  return (call) => (side === ">" ? trace.duration[call] > us : trace.duration[call] < us);
}
