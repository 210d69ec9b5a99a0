/** Positions of times on the canvas of the timeline. Pure. */

import type { TimeRange } from "./range.ts";

/** Width of the names: a share of a wide view, and at most a share of a narrow one. */
const NAMES = { min: 232, max: 340, share: 0.24, maxShare: 0.38 };
/** The minimum with a baseline: folded rows have the numbers of new and changed calls. */
const COMPARED_NAMES = 288;
/** Room for a duration behind the last bar. */
const LABEL_ROOM = 82;
/** The same with the difference from the baseline. */
const COMPARED_ROOM = 140;

export type Interval = readonly [start: number, end: number];

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

  /** Duration of a pixel in microseconds. */
  get pixel(): number {
    return this.range.width / this.width;
  }

  /** Return the intervals in view; those less than a pixel apart are joined. */
  visible(times: readonly Interval[]): Interval[] {
    const [from, to] = [this.time(this.left), this.time(this.right)];
    const shown: [number, number][] = [];
    for (const [start, end] of times) {
      if (end < from) continue;
      if (start > to) break;
      const last = shown[shown.length - 1];
      if (last && start <= last[1] + this.pixel) last[1] = Math.max(last[1], end);
      else shown.push([start, end]);
    }
    return shown;
  }
}

/** Return the plane of a timeline with the width of its element; `compared` with a baseline. */
export function planeOf(range: TimeRange, width: number, compared: boolean): Plane {
  const names = Math.min(NAMES.max, Math.max(compared ? COMPARED_NAMES : NAMES.min, NAMES.share * width));
  const left = Math.round(Math.min(names, NAMES.maxShare * width));
  const room = compared && width > 480 ? COMPARED_ROOM : LABEL_ROOM;
  return new Plane(range, left, Math.max(50, width - left - room), width);
}
