/** The tooltip of a row of the timeline, and the times of its calls. Pure. */

import { inShort } from "../facts/chips.ts";
import { total } from "../trace/comparison.ts";
import { count, time } from "../page/format.ts";
import type { Row } from "../session/rows.ts";
import type { Tip } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";

/** Room beside the calls, as a share of their duration. */
const ROOM = 0.08;

/** Return the hovered call, -1 for missing calls, and its tooltip; of a fold the call nearest to a time. */
export function tipOf(trace: Trace, row: Row, at: number): { call: number; tip: Tip | null } {
  if (row.kind === "missing") return { call: -1, tip: missingTip(trace, row) };
  const away = (call: number): number => Math.max(trace.start(call) - at, at - trace.end(call), 0);
  const call = row.calls.reduce((best, each) => (away(each) < away(best) ? each : best));
  const among = row.kind === "call" ? "" : ` · 1 of ${count(row.calls.length)}`;
  const title = `${trace.name(call)}${among}  ${time(trace.duration[call])}`;
  const [phases, error] = [trace.phases([call]), trace.header.errors[trace.id(call)]];
  return { call, tip: { title, phases, facts: inShort(trace, call), error } };
}

function missingTip({ comparison }: Trace, { missing }: Row): Tip | null {
  if (!comparison) return null;
  const { baseline } = comparison;
  const took = time(total(baseline, missing));
  const title = `${baseline.name(missing[0])} · in the baseline only  ${took}`;
  return { title, phases: baseline.phases(missing) };
}

/** Return start and end of a row's calls, with some room. */
export function extentOf(trace: Trace, row: Row): [from: number, to: number] {
  const gone = row.kind === "missing" && trace.comparison;
  const of = gone ? gone.baseline : trace;
  const calls = gone ? row.missing : row.calls;
  const from = calls.reduce((least, call) => Math.min(least, of.start(call)), Infinity);
  const to = calls.reduce((most, call) => Math.max(most, of.end(call)), 0);
  const room = ROOM * (to - from);
  return [from - room, to + room];
}
