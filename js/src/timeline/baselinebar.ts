/** Bars of the baseline: thin ones below a row, hollow ones for missing calls. */

import type { Comparison } from "../trace/comparison.ts";
import { LABEL_GAP, type Brush, type Label } from "./brush.ts";
import { deltaText, signOf, toneOf } from "../page/delta.ts";
import { time } from "../page/format.ts";
import type { Row } from "../session/rows.ts";
import { beforeOf, totalOf } from "./rowtimes.ts";
import type { Trace } from "../trace/trace.ts";

/** Position below the middle of a row, and height. */
const [BELOW, HEIGHT] = [8.25, 2.5];
/** Minimum width in pixels: short calls stay visible. */
const MIN_WIDTH = 3;
const HOLLOW_HEIGHT = 9;

/** Paint the counterparts of a row in the baseline. */
export function paintBefore(trace: Trace, row: Row, middle: number, brush: Brush): void {
  if (!trace.comparison) return;
  for (const [from, to] of brush.plane.visible(beforeOf(trace, row).times))
    brush.span(from, to, middle + BELOW, HEIGHT, brush.colours.fg3, MIN_WIDTH);
}

/** Paint calls that only the baseline has. */
export function paintMissing(trace: Trace, row: Row, middle: number, brush: Brush): void {
  if (!trace.comparison) return;
  const { times, total } = beforeOf(trace, row);
  const { pen, plane, colours } = brush;
  pen.save();
  pen.strokeStyle = colours.fg3;
  pen.setLineDash([2, 2]);
  for (const [from, to] of plane.visible(times)) {
    const [start, end] = [plane.x(from), plane.x(to)];
    const top = middle - HOLLOW_HEIGHT / 2;
    pen.strokeRect(start + 0.5, top, Math.max(2, end - start - 1), HOLLOW_HEIGHT);
  }
  pen.restore();
  const label: Label = [[time(total), colours.fg2]];
  brush.label(label, times[0][0], times[times.length - 1][1], middle, LABEL_GAP);
}

/** Return the difference of the durations, or that the calls are new. */
export function beside(trace: Trace, row: Row, { colours }: Brush): Label {
  const { comparison } = trace;
  if (!comparison) return [];
  if (row.calls.every((call) => comparison.isNew(call))) return [["new", colours.infer]];
  const { times, total: then } = beforeOf(trace, row);
  if (times.length === 0 || isPartial(trace, row, comparison)) return [];
  const now = totalOf(trace, row);
  const sign = signOf(now, then);
  return sign === "≈" ? [] : [[deltaText(now, then), colours[toneOf(sign)]]];
}

/** Whether either run has more such calls that are only counted: the slowest ones are kept. */
function isPartial(trace: Trace, row: Row, comparison: Comparison): boolean {
  if (row.kind === "call") return false;
  return trace.folded.has(row.calls) || row.calls.some((call) => comparison.isCounted(call));
}
