/** The timeline's bars, painted on canvas: shape and order carry the meaning before colour does. */

import { total, type Comparison } from "./comparison.ts";
import { perPixel, type Steps } from "./concurrency.ts";
import { deltaText, signOf, toneOf } from "./delta.ts";
import { time } from "./format.ts";
import type { TimeRange } from "./range.ts";
import type { Row } from "./rows.ts";
import type { Colours } from "./theme.ts";
import type { Trace } from "./trace.ts";
import { Flag } from "./wire.ts";

export const ROW_HEIGHT = 22;
const QUEUE_HEIGHT = 5;
const BAR_HEIGHT = 12;
const TINT = 0.28;
const DIM = 0.4;
const LABEL_GAP = 6;
const MARK_WIDTH = 19;
/** The baseline's bar lies below, where it covers nothing. */
const [BEFORE_BELOW, BEFORE_HEIGHT] = [8.25, 2.5];
/** A call of a microsecond was there, too. */
const LEAST_BEFORE = 3;
/** Space and opacity of the hatching where calls are only counted. */
const [HATCH, HATCHED] = [5, 0.6];
/** Responses closer than this, in pixels, would run into one another. */
const NOTCH_SPACE = 3;

/** Where times lie on the canvas. */
export class Plane {
  readonly left: number;
  readonly width: number;
  /** Right edge of the canvas, where labels end. */
  readonly right: number;
  readonly range: TimeRange;

  constructor(range: TimeRange, left: number, width: number, right: number) {
    this.range = range;
    this.left = left;
    this.width = width;
    this.right = right;
  }

  x(us: number): number {
    return this.left + ((us - this.range.from) / this.range.width) * this.width;
  }

  time(x: number): number {
    return this.range.from + ((x - this.left) / this.width) * this.range.width;
  }
}

export interface RowLook {
  dim: boolean;
  critical: boolean;
}

/** Texts beside one another, each in its colour. */
type Label = [text: string, colour: string][];

/** Paints the rows of one trace. */
export class Bars {
  #trace: Trace;
  #pen: CanvasRenderingContext2D;
  #plane: Plane;
  #colours: Colours;
  #alpha = 1;

  constructor(trace: Trace, pen: CanvasRenderingContext2D, plane: Plane, colours: Colours) {
    this.#trace = trace;
    this.#pen = pen;
    this.#plane = plane;
    this.#colours = colours;
    pen.font = `10.5px ${colours.font}`;
    pen.textBaseline = "middle";
  }

  paint(row: Row, top: number, { dim, critical }: RowLook): void {
    this.#alpha = dim ? DIM : 1;
    this.#pen.globalAlpha = this.#alpha;
    const middle = top + ROW_HEIGHT / 2;
    if (row.kind === "missing") this.#paintMissing(row, middle);
    else this.#paintBefore(row, middle);
    if (row.kind === "missing") return;
    if (row.kind === "call") this.#paintCall(row, middle, critical);
    else this.#paintFold(row, middle, critical);
    this.#pen.globalAlpha = 1;
  }

  /** The same calls in the baseline: a thin grey bar below. */
  #paintBefore(row: Row, middle: number): void {
    const { comparison } = this.#trace;
    if (!comparison) return;
    for (const [from, to] of this.#visible(beforeOf(comparison, row).times))
      this.#span(from, to, middle + BEFORE_BELOW, BEFORE_HEIGHT, this.#colours.fg3, LEAST_BEFORE);
  }

  /** Calls that only the baseline has are hollow. */
  #paintMissing(row: Row, middle: number): void {
    const { comparison } = this.#trace;
    if (!comparison) return;
    const { times, total: took } = beforeOf(comparison, row);
    const pen = this.#pen;
    pen.save();
    pen.strokeStyle = this.#colours.fg3;
    pen.setLineDash([2, 2]);
    for (const [from, to] of this.#visible(times)) {
      const [start, end] = [this.#plane.x(from), this.#plane.x(to)];
      pen.strokeRect(start + 0.5, middle - 4.5, Math.max(2, end - start - 1), 9);
    }
    pen.restore();
    const label: Label = [[time(took), this.#colours.fg2]];
    this.#place(label, times[0][0], times[times.length - 1][1], middle, LABEL_GAP);
  }

  /** The intervals in view, those closer than a pixel as one. */
  #visible(times: readonly Interval[]): Interval[] {
    const { range, left, right, width } = this.#plane;
    const gap = range.width / width;
    const [from, to] = [this.#plane.time(left), this.#plane.time(right)];
    const shown: [number, number][] = [];
    for (const [start, end] of times) {
      if (end < from) continue;
      if (start > to) break;
      const last = shown[shown.length - 1];
      if (last && start <= last[1] + gap) last[1] = Math.max(last[1], end);
      else shown.push([start, end]);
    }
    return shown;
  }

  #paintCall(row: Row, middle: number, critical: boolean): void {
    const [call] = row.calls;
    const [start, end] = [
      this.#plane.x(this.#trace.start(call)),
      this.#plane.x(this.#trace.end(call)),
    ];
    if (end < this.#plane.left - MARK_WIDTH || start > this.#plane.right) return;
    if (end - start < 2) this.#rect(start, middle, 2, BAR_HEIGHT, this.#colours.infer);
    else this.#paintPhases(call, middle);
    this.#paintResponses(call, middle);
    if (this.#trace.has(call, Flag.RUNNING))
      this.#rect(end - 2, middle, 3, BAR_HEIGHT + 2, this.#colours.running);
    if (this.#trace.has(call, Flag.ERROR)) this.#paintError(end, middle);
    if (critical) this.#rect(start, middle + 8.75, Math.max(1, end - start), 1.5, this.#colours.fg);
    // Of a call that ended before what is shown, half a label would remain.
    if (end >= this.#plane.left) this.#paintLabel(row, middle);
  }

  #paintPhases(call: number, middle: number): void {
    const { queue, input, infer, output, fg3 } = this.#colours;
    let at = this.#trace.start(call);
    const next = (us: number, height: number, colour: string): void => {
      if (!(us > 0)) return;
      this.#span(at, at + us, middle, height, colour);
      at += us;
    };
    next(this.#trace.phase(call, "pre_us"), 1, fg3);
    next(this.#trace.phase(call, "queue_us"), QUEUE_HEIGHT, queue);
    next(this.#trace.phase(call, "compute_input_us"), BAR_HEIGHT, input);
    const inferring = this.#trace.phase(call, "compute_infer_us");
    if (this.#trace.isLeaf(call)) next(inferring, BAR_HEIGHT, infer);
    else if (inferring > 0) {
      this.#paintCaller(call, at, at + inferring, middle);
      at += inferring;
    }
    next(this.#trace.phase(call, "compute_output_us"), BAR_HEIGHT, output);
    next(this.#trace.phase(call, "post_us"), 1, fg3);
  }

  /** Time in child calls is a tint, own time is solid; between its steps an ensemble waits. */
  #paintCaller(call: number, from: number, to: number, middle: number): void {
    const { fg3, infer } = this.#colours;
    const colour = this.#trace.isEnsemble(call) ? fg3 : infer;
    this.#pen.globalAlpha = this.#alpha * TINT;
    this.#span(from, to, middle, BAR_HEIGHT, infer);
    this.#pen.globalAlpha = this.#alpha;
    const gap = 0.3 * (this.#plane.range.width / this.#plane.width);
    let at = from;
    const intervals = this.#trace.childIntervals(call);
    for (let k = 0; k < intervals.length && at < to; k += 2) {
      if (intervals[k] - at > gap)
        this.#span(at, Math.min(to, intervals[k]), middle, BAR_HEIGHT, colour);
      at = Math.max(at, intervals[k + 1]);
    }
    if (to - at > gap) this.#span(at, to, middle, BAR_HEIGHT, colour);
  }

  /** A stream's responses are notches at their times; the first one goes through the bar. */
  #paintResponses(call: number, middle: number): void {
    if (!this.#trace.has(call, Flag.DECOUPLED)) return;
    // On the pale bar of a caller light notches are lost.
    this.#pen.fillStyle = this.#trace.isLeaf(call) ? this.#colours.bg : this.#colours.fg;
    let last = -Infinity;
    for (const [k, us] of this.#trace.responses(call).entries()) {
      const x = Math.round(this.#plane.x(this.#trace.start(call) + us));
      if (x - last < NOTCH_SPACE && k > 1) continue;
      if (x >= this.#plane.left && x <= this.#plane.right) this.#notch(x, middle, k === 0);
      last = x;
    }
  }

  #notch(x: number, middle: number, first: boolean): void {
    if (first) this.#pen.fillRect(x, middle - BAR_HEIGHT / 2, 1, BAR_HEIGHT);
    else this.#pen.fillRect(x, middle + 2, 1, 4);
  }

  /** A bar at the end and a triangle: never colour alone. */
  #paintError(x: number, middle: number): void {
    const pen = this.#pen;
    this.#rect(x - 1, middle, 2, 16, this.#colours.error);
    pen.beginPath();
    pen.moveTo(x + 8, middle - 6);
    pen.lineTo(x + 14, middle + 5);
    pen.lineTo(x + 2, middle + 5);
    pen.fill();
    pen.fillStyle = this.#colours.bg;
    pen.fillRect(x + 7.4, middle - 2, 1.3, 3.6);
    pen.fillRect(x + 7.4, middle + 2.6, 1.3, 1.3);
  }

  #paintLabel(row: Row, middle: number): void {
    const [call] = row.calls;
    const running = this.#trace.has(call, Flag.RUNNING);
    const took = running ? "running…" : time(this.#trace.duration[call]);
    const label: Label = [[took, this.#colours.fg2], ...this.#beside(row)];
    const gap = this.#trace.has(call, Flag.ERROR) ? MARK_WIDTH : LABEL_GAP;
    const within = this.#trace.isLeaf(call) ? this.#colours.bg : this.#colours.fg;
    this.#place(label, this.#trace.start(call), this.#trace.end(call), middle, gap, within);
  }

  /** By how much calls are slower or faster than in the baseline, or that they are new. */
  #beside(row: Row): Label {
    const { comparison } = this.#trace;
    if (!comparison) return [];
    const { times, total: then } = beforeOf(comparison, row);
    if (times.length === 0) return [["new", this.#colours.infer]];
    const now = totalOf(this.#trace, row);
    const sign = signOf(now, then);
    return sign === "≈" ? [] : [[deltaText(now, then), this.#colours[toneOf(sign)]]];
  }

  /** Behind the bar, else before it, else in it. */
  #place(
    label: Label,
    from: number,
    to: number,
    middle: number,
    gap: number,
    within = this.#colours.fg,
  ): void {
    const [start, end] = [this.#plane.x(from), this.#plane.x(to)];
    const widths = label.map(([text]) => this.#pen.measureText(text).width);
    const width = widths.reduce((sum, each) => sum + each + LABEL_GAP, -LABEL_GAP);
    const behind = end + gap + width < this.#plane.right;
    const ahead = !behind && start - LABEL_GAP - width > this.#plane.left;
    let x = behind ? end + gap : start - LABEL_GAP - width;
    if (!behind && !ahead) x = Math.max(start, this.#plane.left) + 8;
    label.forEach(([text, colour], k) => {
      this.#text(text, x, middle, "left", behind || ahead ? colour : within);
      x += widths[k] + LABEL_GAP;
    });
  }

  /** Height and opacity are concurrency, ticks are failures. */
  #paintFold(row: Row, middle: number, critical: boolean): void {
    const { range, left, width } = this.#plane;
    const steps = stepsOf(this.#trace, row);
    // Calls go on behind the last label, up to the edge of the canvas.
    const pixels = Math.ceil(this.#plane.right - left);
    const most = perPixel(steps, range.from, range.from + (pixels / width) * range.width, pixels);
    this.#paintCounted(row, middle);
    const last = this.#paintStrip(most, steps.max, middle);
    if (critical)
      for (const [from, to] of this.#visible(criticalOf(this.#trace, row)))
        this.#span(from, to, middle + 8.75, 1.5, this.#colours.fg, 1);
    for (const call of this.#trace.failedOf(row.calls))
      this.#tick(this.#trace.end(call), middle);
    if (last < 0) return;
    let x = left + last + LABEL_GAP + 1;
    const took = `${time(totalOf(this.#trace, row))} total`;
    for (const [text, colour] of [[took, this.#colours.fg2] as const, ...this.#beside(row)]) {
      const { width: wide } = this.#pen.measureText(text);
      if (x + wide < this.#plane.right) this.#text(text, x, middle, "left", colour);
      x += wide + LABEL_GAP;
    }
  }

  /** When further calls ran, of which it is only known how many: hatched, since nothing is exact. */
  #paintCounted(row: Row, middle: number): void {
    const gone = this.#trace.folded.beside(row.calls);
    if (!gone || !(gone.to > gone.from)) return;
    const pen = this.#pen;
    const start = Math.max(this.#plane.x(gone.from), this.#plane.left);
    const end = Math.min(this.#plane.x(gone.to), this.#plane.right);
    pen.save();
    pen.beginPath();
    pen.rect(start, middle - QUEUE_HEIGHT / 2 - 1, Math.max(0, end - start), QUEUE_HEIGHT + 2);
    pen.clip();
    pen.globalAlpha = this.#alpha * HATCHED;
    pen.strokeStyle = this.#colours.infer;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (let x = start - HATCH; x < end; x += HATCH) {
      pen.moveTo(x, middle + HATCH);
      pen.lineTo(x + 2 * HATCH, middle - HATCH);
    }
    pen.stroke();
    pen.restore();
  }

  /** Returns where the strip ends, in pixels; -1 if nothing is in view. */
  #paintStrip(most: Uint32Array, max: number, middle: number): number {
    const pen = this.#pen;
    pen.fillStyle = this.#colours.infer;
    let last = -1;
    for (let x = 0; x < most.length;) {
      const from = x;
      const share = most[from] / max;
      while (x < most.length && most[x] === most[from]) x++;
      if (!(share > 0)) continue;
      const height = QUEUE_HEIGHT + (BAR_HEIGHT - QUEUE_HEIGHT) * Math.sqrt(share);
      pen.globalAlpha = this.#alpha * (0.3 + 0.7 * share);
      pen.fillRect(
        this.#plane.left + from,
        middle - height / 2,
        x - from > 4 ? x - from - 0.5 : x - from,
        height,
      );
      last = x;
    }
    pen.globalAlpha = this.#alpha;
    return last;
  }

  #tick(us: number, middle: number): void {
    const x = this.#plane.x(us);
    if (x < this.#plane.left || x > this.#plane.right) return;
    const pen = this.#pen;
    pen.fillStyle = this.#colours.error;
    pen.beginPath();
    pen.moveTo(x, middle - 9);
    pen.lineTo(x + 3.5, middle - 5);
    pen.lineTo(x - 3.5, middle - 5);
    pen.fill();
  }

  /** A bar between two times, cut where it would leave the canvas. */
  #span(
    from: number,
    to: number,
    middle: number,
    height: number,
    colour: string,
    least = 0.8,
  ): void {
    const start = Math.max(this.#plane.x(from), -50);
    const end = Math.min(this.#plane.x(to), this.#plane.right + 50);
    if (end > start) this.#rect(start, middle, Math.max(least, end - start), height, colour);
  }

  #rect(x: number, middle: number, width: number, height: number, colour: string): void {
    this.#pen.fillStyle = colour;
    this.#pen.fillRect(x, middle - height / 2, width, height);
  }

  #text(text: string, x: number, middle: number, align: CanvasTextAlign, colour: string): void {
    this.#pen.textAlign = align;
    this.#pen.fillStyle = colour;
    this.#pen.fillText(text, x, middle + 0.5);
  }
}

type Interval = readonly [start: number, end: number];

/** The calls of the baseline that belong to a row. */
interface Before {
  /** Merged, in order. */
  times: Interval[];
  total: number;
}

const knownBefores = new WeakMap<Row, Before>();

function beforeOf(comparison: Comparison, row: Row): Before {
  const known = knownBefores.get(row);
  if (known) return known;
  const { baseline } = comparison;
  const calls = row.kind === "missing" ? row.missing : comparison.beforeAll(row.calls);
  const before = { times: baseline.merged(calls), total: total(baseline, calls) };
  knownBefores.set(row, before);
  return before;
}

const criticals = new WeakMap<Row, Interval[]>();

/** When those calls of a fold ran that the wall time is made of. */
function criticalOf(trace: Trace, row: Row): Interval[] {
  let known = criticals.get(row);
  if (!known) {
    const calls = row.calls.filter((call) => trace.critical.has(call));
    criticals.set(row, (known = trace.merged(calls)));
  }
  return known;
}

const steps = new WeakMap<Row, Steps>();
const totals = new WeakMap<Row, number>();

function stepsOf(trace: Trace, row: Row): Steps {
  let known = steps.get(row);
  if (!known) steps.set(row, (known = trace.concurrencyOf(row.calls)));
  return known;
}

function totalOf(trace: Trace, row: Row): number {
  let known = totals.get(row);
  if (known === undefined)
    totals.set(
      row,
      (known = row.calls.reduce(
        (sum, call) => sum + trace.duration[call],
        row.kind === "fold" ? (trace.folded.beside(row.calls)?.us ?? 0) : 0,
      )),
    );
  return known;
}
