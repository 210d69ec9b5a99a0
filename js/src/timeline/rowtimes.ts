/** Times of the calls of a row, computed once per row. Pure. */

import { total as totalTime } from "../trace/comparison.ts";
import type { Steps } from "../trace/concurrency.ts";
import type { Interval } from "./plane.ts";
import type { Row } from "../session/rows.ts";
import type { Trace } from "../trace/trace.ts";

/** The calls of the baseline in a row. */
export interface Before {
  /** Merged, in order. */
  times: readonly Interval[];
  total: number;
}

/** Total duration of the calls of a row, those that are only counted included. */
export const totalOf = oncePerRow((trace, row): number => {
  const counted = row.kind === "fold" ? trace.folded.beside(row.calls) : null;
  return totalTime(trace, row.calls) + (counted?.us ?? 0);
});

/** Concurrency of the calls of a row. */
export const stepsOf = oncePerRow((trace, row): Steps => trace.concurrencyOf(row.calls));

/** Times of the calls of a row on the critical path. */
export const criticalOf = oncePerRow((trace, row): readonly Interval[] =>
  trace.merged(row.calls.filter((call) => trace.critical.has(call))),
);

/** Counterparts of a row in the baseline; nothing without a baseline. */
export const beforeOf = oncePerRow((trace, row): Before => {
  const { comparison } = trace;
  if (!comparison) return { times: [], total: 0 };
  const { baseline } = comparison;
  const calls = row.kind === "missing" ? row.missing : comparison.beforeAll(row.calls);
  return { times: baseline.merged(calls), total: totalTime(baseline, calls) };
});

/** Remember a value for each row; rows belong to one trace. */
function oncePerRow<T>(of: (trace: Trace, row: Row) => T): (trace: Trace, row: Row) => T {
  const known = new WeakMap<Row, { value: T }>();
  return (trace, row) => {
    let found = known.get(row);
    if (!found) known.set(row, (found = { value: of(trace, row) }));
    return found.value;
  };
}
