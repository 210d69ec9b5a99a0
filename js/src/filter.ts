/** The filter: part of a name or device, a state, or a bound of the duration. Pure. */

import type { Trace } from "./trace.ts";
import { Flag } from "./wire.ts";

const SCALES: Record<string, number> = { ns: 1e-3, us: 1, µs: 1, ms: 1e3, s: 1e6 };
const STATES: Record<string, number> = {
  error: Flag.ERROR,
  stream: Flag.DECOUPLED,
  async: Flag.ASYNC,
  running: Flag.RUNNING,
  cancelled: Flag.CANCELLED,
  cached: Flag.CACHE_HIT,
};

/** Return which calls match a text; null for an empty one. */
export function filterOf(text: string, trace: Trace): ((call: number) => boolean) | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const { comparison } = trace;
  if (comparison && wanted === "changed") return (call) => comparison.changed.has(call);
  if (comparison && wanted === "new") return (call) => comparison.isNew(call);
  if (wanted === "batched") return (call) => trace.calls.batch[call] > 1;
  const flag = STATES[wanted];
  if (flag) return (call) => trace.has(call, flag);
  const bound = /^([<>])\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?$/.exec(wanted);
  if (bound) return bounded(trace, bound[1], Number(bound[2]) * SCALES[bound[3] ?? "ms"]);
  const named = trace.header.models.map(
    ({ device }, model) =>
      trace.names[model].toLowerCase().includes(wanted) || device.toLowerCase().includes(wanted),
  );
  return (call) => named[trace.calls.model[call]];
}

function bounded(trace: Trace, side: string, us: number): (call: number) => boolean {
  return (call) => (side === ">" ? trace.duration[call] > us : trace.duration[call] < us);
}
