/** The bar of one call: phases in their order, responses, failure. */

import { beside } from "./baselinebar.ts";
import { BAR_HEIGHT, LABEL_GAP, QUEUE_HEIGHT, type Brush, type Label } from "./brush.ts";
import { time } from "../page/format.ts";
import type { Row } from "../session/rows.ts";
import type { Trace } from "../trace/trace.ts";
import { Flag } from "../trace/wire.ts";

const TINT = 0.28;
/** Width of the triangle of a failed call. */
const MARK_WIDTH = 19;
/** Minimum distance of two responses in pixels. */
const NOTCH_SPACE = 3;
/** Minimum width of a call in pixels; a narrower one has no visible phases. */
const MIN_WIDTH = 2;

export class CallBar {
  #trace: Trace;
  #brush: Brush;

  constructor(trace: Trace, brush: Brush) {
    this.#trace = trace;
    this.#brush = brush;
  }

  paint(row: Row, middle: number, critical: boolean): void {
    const [trace, brush, [call]] = [this.#trace, this.#brush, row.calls];
    const { plane, colours } = brush;
    const [start, end] = [plane.x(trace.start(call)), plane.x(trace.end(call))];
    if (end < plane.left - MARK_WIDTH || start > plane.right) return;
    if (end - start < MIN_WIDTH) brush.rect(start, middle, MIN_WIDTH, BAR_HEIGHT, colours.infer);
    else this.#phases(call, middle);
    this.#responses(call, middle);
    if (trace.has(call, Flag.RUNNING))
      brush.rect(end - 2, middle, 3, BAR_HEIGHT + 2, colours.running);
    if (trace.has(call, Flag.ERROR)) this.#error(end, middle);
    if (critical) brush.underline(trace.start(call), trace.end(call), middle);
    // The label of a call that ended before the shown time would be cut.
    if (end >= plane.left) this.#label(row, middle);
  }

  /** Draw a frame around the execution that the call shared with others. */
  frame(row: Row, middle: number): void {
    const [trace, { pen, plane, colours }, [call]] = [this.#trace, this.#brush, row.calls];
    const waited = trace.phase(call, "pre_us") + trace.phase(call, "queue_us");
    const start = plane.x(trace.start(call) + (waited || 0));
    const end = plane.x(trace.end(call) - (trace.phase(call, "post_us") || 0));
    pen.strokeStyle = colours.fg;
    pen.lineWidth = 1;
    const [top, height] = [middle - BAR_HEIGHT / 2 - 1.5, BAR_HEIGHT + 3];
    pen.strokeRect(Math.round(start) - 0.5, top, Math.max(2, Math.round(end - start)) + 1, height);
  }

  #phases(call: number, middle: number): void {
    const [trace, brush] = [this.#trace, this.#brush];
    const { queue, input, infer, output, fg3 } = brush.colours;
    let at = trace.start(call);
    const next = (us: number, paint: (to: number) => void): void => {
      if (!(us > 0)) return;
      paint(at + us);
      at += us;
    };
    const bar = (height: number, colour: string) => (to: number) =>
      brush.span(at, to, middle, height, colour);
    next(trace.phase(call, "pre_us"), bar(1, fg3));
    next(trace.phase(call, "queue_us"), bar(QUEUE_HEIGHT, queue));
    next(trace.phase(call, "compute_input_us"), bar(BAR_HEIGHT, input));
    const asking = (to: number): void => this.#caller(call, at, to, middle);
    next(
      trace.phase(call, "compute_infer_us"),
      trace.isLeaf(call) ? bar(BAR_HEIGHT, infer) : asking,
    );
    next(trace.phase(call, "compute_output_us"), bar(BAR_HEIGHT, output));
    next(trace.phase(call, "post_us"), bar(1, fg3));
  }

  /** Paint time in child calls as a tint and own time solid; an ensemble waits between its steps. */
  #caller(call: number, from: number, to: number, middle: number): void {
    const [trace, brush] = [this.#trace, this.#brush];
    const { fg3, infer } = brush.colours;
    const colour = trace.isEnsemble(call) ? fg3 : infer;
    brush.weakly(TINT, () => brush.span(from, to, middle, BAR_HEIGHT, infer));
    for (const [start, end] of between(trace.childIntervals(call), from, to))
      if (end - start > 0.3 * brush.plane.pixel)
        brush.span(start, end, middle, BAR_HEIGHT, colour);
  }

  /** Paint responses of a stream as notches; that of the first goes through the bar. */
  #responses(call: number, middle: number): void {
    const [trace, { plane, colours, pen }] = [this.#trace, this.#brush];
    if (!trace.has(call, Flag.DECOUPLED)) return;
    // Light notches are invisible on the pale bar of a caller.
    pen.fillStyle = trace.isLeaf(call) ? colours.bg : colours.fg;
    let last = -Infinity;
    for (const [k, us] of trace.responses(call).entries()) {
      const x = Math.round(plane.x(trace.start(call) + us));
      if (x - last < NOTCH_SPACE && k > 1) continue;
      if (x >= plane.left && x <= plane.right) this.#notch(x, middle, k === 0);
      last = x;
    }
  }

  #notch(x: number, middle: number, first: boolean): void {
    const { pen } = this.#brush;
    if (first) pen.fillRect(x, middle - BAR_HEIGHT / 2, 1, BAR_HEIGHT);
    else pen.fillRect(x, middle + 2, 1, 4);
  }

  /** Mark a failure by a bar and a triangle, not by colour alone. */
  #error(x: number, middle: number): void {
    const { colours } = this.#brush;
    this.#brush.rect(x - 1, middle, 2, 16, colours.error);
    this.#brush.triangle([x + 8, middle - 6], [x + 14, middle + 5], [x + 2, middle + 5]);
    this.#brush.rect(x + 7.4, middle - 0.2, 1.3, 3.6, colours.bg);
    this.#brush.rect(x + 7.4, middle + 3.25, 1.3, 1.3, colours.bg);
  }

  #label(row: Row, middle: number): void {
    const [trace, brush, [call]] = [this.#trace, this.#brush, row.calls];
    const running = trace.has(call, Flag.RUNNING);
    const took = running ? "running…" : time(trace.duration[call]);
    const label: Label = [[took, brush.colours.fg2], ...beside(trace, row, brush)];
    const gap = trace.has(call, Flag.ERROR) ? MARK_WIDTH : LABEL_GAP;
    brush.label(label, trace.start(call), trace.end(call), middle, gap);
  }
}

/** Return the parts of a period that no interval covers; intervals are start, end, start, end, … */
function between(intervals: readonly number[], from: number, to: number): [number, number][] {
  const free: [number, number][] = [];
  let at = from;
  for (let k = 0; k < intervals.length && at < to; k += 2) {
    free.push([at, Math.min(to, intervals[k])]);
    at = Math.max(at, intervals[k + 1]);
  }
  free.push([at, to]);
  return free;
}
