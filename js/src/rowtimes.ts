/** Times of a row's calls, worked out once per row: every frame shows them. Pure. */

import { total as totalTime } from "./comparison.ts";
import type { Steps } from "./concurrency.ts";
import type { Interval } from "./plane.ts";
import type { Row } from "./rows.ts";
import type { Trace } from "./trace.ts";

/** The calls of the baseline that belong to a row. */
export interface Before {
  /** Merged, in order. */
  times: readonly Interval[];
  total: number;
}

/** What all calls of a row took, also those that are only counted. */
export const totalOf = oncePerRow((trace, row): number => {
  const counted = row.kind === "fold" ? trace.folded.beside(row.calls) : null;
  return totalTime(trace, row.calls) + (counted?.us ?? 0);
});

/** How many of a row's calls ran at once. */
export const stepsOf = oncePerRow((trace, row): Steps => trace.concurrencyOf(row.calls));

/** When those calls of a row ran that the wall time is made of. */
export const criticalOf = oncePerRow((trace, row): readonly Interval[] =>
  trace.merged(row.calls.filter((call) => trace.critical.has(call))),
);

/** Of a run that stands alone, nothing was before. */
export const beforeOf = oncePerRow((trace, row): Before => {
  const { comparison } = trace;
  if (!comparison) return { times: [], total: 0 };
  const { baseline } = comparison;
  const calls = row.kind === "missing" ? row.missing : comparison.beforeAll(row.calls);
  return { times: baseline.merged(calls), total: totalTime(baseline, calls) };
});

/** Rows are made anew for every trace. */
function oncePerRow<T>(of: (trace: Trace, row: Row) => T): (trace: Trace, row: Row) => T {
  const known = new WeakMap<Row, { value: T }>();
  return (trace, row) => {
    let found = known.get(row);
    if (!found) known.set(row, (found = { value: of(trace, row) }));
    return found.value;
  };
}
