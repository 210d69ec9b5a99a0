/** The strip of a folded row: height and opacity are concurrency, ticks are failures. */

import { beside } from "./baselinebar.ts";
import { BAR_HEIGHT, LABEL_GAP, QUEUE_HEIGHT, type Brush } from "./brush.ts";
import { perPixel } from "../trace/concurrency.ts";
import { time } from "../page/format.ts";
import type { Row } from "../session/rows.ts";
import { criticalOf, stepsOf, totalOf } from "./rowtimes.ts";
import type { Trace } from "../trace/trace.ts";

/** Space and opacity of the hatching where calls are only counted. */
const [HATCH, HATCHED] = [5, 0.6];
/** A wider part of the strip is parted from the next one. */
const MIN_PARTED_WIDTH = 4;

export class FoldBar {
  #trace: Trace;
  #brush: Brush;

  constructor(trace: Trace, brush: Brush) {
    this.#trace = trace;
    this.#brush = brush;
  }

  paint(row: Row, middle: number, critical: boolean): void {
    const [trace, brush] = [this.#trace, this.#brush];
    this.#counted(row, middle);
    const last = this.#strip(row, middle);
    if (critical)
      for (const [from, to] of brush.plane.visible(criticalOf(trace, row)))
        brush.underline(from, to, middle);
    for (const call of trace.failedOf(row.calls)) this.#tick(trace.end(call), middle);
    if (last < 0) return;
    const took = [`${time(totalOf(trace, row))} total`, brush.colours.fg2] as const;
    const x = brush.plane.left + last + LABEL_GAP + 1;
    brush.labelAt([took, ...beside(trace, row, brush)], x, middle);
  }

  /** When further calls ran, of which it is only known how many: hatched, since nothing is exact. */
  #counted(row: Row, middle: number): void {
    const gone = this.#trace.folded.beside(row.calls);
    if (!gone || !(gone.to > gone.from)) return;
    const { pen, plane } = this.#brush;
    const start = Math.max(plane.x(gone.from), plane.left);
    const end = Math.min(plane.x(gone.to), plane.right);
    pen.save();
    pen.beginPath();
    pen.rect(start, middle - QUEUE_HEIGHT / 2 - 1, Math.max(0, end - start), QUEUE_HEIGHT + 2);
    pen.clip();
    this.#brush.weakly(HATCHED, () => this.#hatch(start, end, middle));
    pen.restore();
  }

  #hatch(start: number, end: number, middle: number): void {
    const { pen, colours } = this.#brush;
    pen.strokeStyle = colours.infer;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (let x = start - HATCH; x < end; x += HATCH) {
      pen.moveTo(x, middle + HATCH);
      pen.lineTo(x + 2 * HATCH, middle - HATCH);
    }
    pen.stroke();
  }

  /** Returns where the strip ends, in pixels; -1 if nothing is in view. */
  #strip(row: Row, middle: number): number {
    const { range, left, right, pixel } = this.#brush.plane;
    const steps = stepsOf(this.#trace, row);
    // Calls go on behind the last label, up to the edge of the canvas.
    const pixels = Math.ceil(right - left);
    const most = perPixel(steps, range.from, range.from + pixels * pixel, pixels);
    let last = -1;
    for (let x = 0; x < most.length;) {
      const from = x;
      while (x < most.length && most[x] === most[from]) x++;
      if (most[from] === 0) continue;
      this.#level(left + from, x - from, most[from] / steps.max, middle);
      last = x;
    }
    return last;
  }

  #level(x: number, width: number, share: number, middle: number): void {
    const height = QUEUE_HEIGHT + (BAR_HEIGHT - QUEUE_HEIGHT) * Math.sqrt(share);
    const wide = width > MIN_PARTED_WIDTH ? width - 0.5 : width;
    const { infer } = this.#brush.colours;
    this.#brush.weakly(0.3 + 0.7 * share, () => this.#brush.rect(x, middle, wide, height, infer));
  }

  #tick(us: number, middle: number): void {
    const { plane, pen, colours } = this.#brush;
    const x = plane.x(us);
    if (x < plane.left || x > plane.right) return;
    pen.fillStyle = colours.error;
    this.#brush.triangle([x, middle - 9], [x + 3.5, middle - 5], [x - 3.5, middle - 5]);
  }
}
