/** The strip above the rows: concurrency with a brush to zoom, and the time axis. */

import { perPixel, type Steps } from "../trace/concurrency.ts";
import { context, h } from "../page/dom.ts";
import { count, counted } from "../page/format.ts";
import type { Plane } from "./plane.ts";
import { drag } from "../page/press.ts";
import { ticks, timeText, type TimeRange } from "./range.ts";
import type { Colours } from "../page/theme.ts";
import type { Trace } from "../trace/trace.ts";

const HEIGHT = 26;
const AXIS_HEIGHT = 20;
const CURVE_HEIGHT = 18;
const LABEL_AT = 10;
/** Maximum number of pixels of a click. */
const CLICK = 3;

export class Strip {
  readonly element = h("canvas", { class: "strip", "aria-hidden": "true" });
  #range: TimeRange;
  #changed: () => void;
  #plane!: Plane;
  #curve: { steps: Steps; whole: number; most: Uint32Array } | null = null;

  constructor(range: TimeRange, changed: () => void) {
    this.#range = range;
    this.#changed = changed;
    this.element.addEventListener("pointerdown", (event) => this.#brush(event));
    this.element.addEventListener("dblclick", () => {
      range.all();
      changed();
    });
  }

  paint(trace: Trace, plane: Plane, colours: Colours): void {
    this.#plane = plane;
    const pen = context(this.element, plane.right, HEIGHT);
    const pixels = Math.max(1, Math.floor(plane.width));
    const { concurrency } = trace;
    const most = this.#curveOf(concurrency, pixels);
    pen.fillStyle = colours.infer;
    pen.globalAlpha = 0.55;
    // One shape: separate columns leave seams on some screens.
    pen.beginPath();
    most.forEach((running, x) => {
      const height = (running / concurrency.max) * CURVE_HEIGHT;
      if (running) pen.rect(plane.left + x, HEIGHT - 3 - height, 1, height);
    });
    pen.fill();
    this.#paintCounted(trace, pen, plane);
    pen.globalAlpha = 1;
    this.#paintErrors(trace, pen, plane, colours);
    this.#paintWindow(pen, plane, colours);
    // A call that was rejected at once has no duration, but is a call.
    const words = `max ${count(Math.max(1, concurrency.max))}`;
    label(pen, colours, [`concurrent calls, ${words}`, words], plane.left, HEIGHT / 2);
  }

  /** Paint the mean concurrency of calls that are only counted, paler. */
  #paintCounted(trace: Trace, pen: CanvasRenderingContext2D, { left, width }: Plane): void {
    pen.globalAlpha = 0.22;
    const scale = width / this.#range.whole;
    for (const { from, to, level } of trace.folded.stretches) {
      const height = Math.min(1, level / Math.max(1, trace.concurrency.max)) * CURVE_HEIGHT;
      pen.fillRect(left + from * scale, HEIGHT - 3 - height, (to - from) * scale, height);
    }
  }

  /** Return the curve of the whole run, which zoom and pan do not change. */
  #curveOf(steps: Steps, pixels: number): Uint32Array {
    const { whole } = this.#range;
    const known = this.#curve;
    if (known?.steps === steps && known.whole === whole && known.most.length === pixels)
      return known.most;
    const most = perPixel(steps, 0, whole, pixels);
    this.#curve = { steps, whole, most };
    return most;
  }

  #paintErrors(trace: Trace, pen: CanvasRenderingContext2D, plane: Plane, colours: Colours): void {
    pen.fillStyle = colours.error;
    for (const call of trace.failed)
      pen.fillRect(plane.left + (trace.end(call) / this.#range.whole) * plane.width - 1, 2, 2, 4);
  }

  #paintWindow(
    pen: CanvasRenderingContext2D,
    { left, width }: Plane,
    { shade, accent }: Colours,
  ): void {
    if (this.#range.isWhole) return;
    const from = left + (this.#range.from / this.#range.whole) * width;
    const to = left + (this.#range.to / this.#range.whole) * width;
    pen.fillStyle = shade;
    pen.fillRect(left, 0, from - left, HEIGHT);
    pen.fillRect(to, 0, left + width - to, HEIGHT);
    pen.strokeStyle = accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(from, 0.75, Math.max(3, to - from), HEIGHT - 1.5);
  }

  /** Zoom to a dragged range; a click moves to a time. */
  #brush(start: PointerEvent): void {
    const from = this.#time(start);
    const move = (event: PointerEvent): void => {
      if (Math.abs(event.clientX - start.clientX) <= CLICK) return;
      const to = this.#time(event);
      this.#range.show(Math.min(from, to), Math.max(from, to));
      this.#changed();
    };
    const released = (event: MouseEvent): void => {
      if (Math.abs(event.clientX - start.clientX) > CLICK || this.#range.isWhole) return;
      this.#range.pan(from - (this.#range.from + this.#range.to) / 2);
      this.#changed();
    };
    drag(this.element, start, move, released);
  }

  #time(event: PointerEvent): number {
    const { left, width } = this.#plane;
    const x = event.clientX - this.element.getBoundingClientRect().left - left;
    return (x / width) * this.#range.whole;
  }
}

export class Axis {
  readonly element = h("canvas", { class: "axis", "aria-hidden": "true" });

  /** Label round times; returns them for the grid below. */
  paint(plane: Plane, colours: Colours, rows: number): number[] {
    const pen = context(this.element, plane.right, AXIS_HEIGHT);
    label(pen, colours, [counted(rows, "row")], plane.left, AXIS_HEIGHT / 2);
    const { times, step } = ticks(plane.range, plane.width);
    const written = timeText(plane.range, step);
    for (const us of times) {
      const text = written(us);
      const [x, half] = [plane.x(us), pen.measureText(text).width / 2];
      if (x + half > plane.right) continue;
      pen.fillText(text, Math.max(plane.left, x - half), AXIS_HEIGHT / 2);
    }
    return times;
  }
}

/** Write the first of the texts that fits before a position, else the last. */
function label(
  pen: CanvasRenderingContext2D,
  { font, fg2 }: Colours,
  texts: readonly string[],
  end: number,
  middle: number,
): void {
  pen.font = `10.5px ${font}`;
  pen.textBaseline = "middle";
  pen.fillStyle = fg2;
  const fits = texts.find((text) => LABEL_AT + pen.measureText(text).width < end);
  pen.fillText(fits ?? texts[texts.length - 1], LABEL_AT, middle);
}
