import { penOf, point } from "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import { Plane } from "../src/timeline/plane.ts";
import { TimeRange } from "../src/timeline/range.ts";
import { Strip } from "../src/timeline/strip.ts";
import type { Colours } from "../src/page/theme.ts";
import { call, traceOf } from "./fixture.ts";

/** Drag over the strip of a run, ten microseconds a pixel, of which 2 to 4 ms are shown, until an event. */
function draggedUntil(end: string, ...to: number[]): [from: number, to: number] {
  const range = new TimeRange();
  range.grow(10_000 / 1.005);
  range.show(2000, 4000);
  const strip = new Strip(range, () => undefined);
  const { left } = strip.element.getBoundingClientRect();
  const trace = traceOf([call(-1, 0, 0, { compute_infer_us: 9000 })]);
  strip.paint(trace, new Plane(range, 100, 1000, 1200), {} as Colours);
  point(strip.element, "pointerdown", left + 100 + 500);
  for (const x of to) point(strip.element, "pointermove", left + 100 + x);
  point(strip.element, end, left + 100 + to[to.length - 1]);
  point(strip.element, "pointermove", left + 100 + 900);
  return [Math.round(range.from), Math.round(range.to)];
}

const dragged = draggedUntil.bind(null, "pointerup");

test("a drag of up to three pixels is a click, which moves the shown range to its time", () => {
  assert.deepEqual(dragged(500), [4000, 6000]);
  assert.deepEqual(dragged(503), [4000, 6000]);
  assert.deepEqual(dragged(497), [4000, 6000]);
});

test("a drag ends where the browser takes the pointer, or opens a menu, without a click", () => {
  for (const end of ["pointercancel", "contextmenu"]) {
    assert.deepEqual(draggedUntil(end, 503), [2000, 4000]);
    assert.deepEqual(draggedUntil(end, 700), [5000, 7000]);
  }
});

test("a longer drag shows the dragged range, in either direction", () => {
  assert.deepEqual(dragged(504), [5000, 5040]);
  assert.deepEqual(dragged(496), [4960, 5000]);
  assert.deepEqual(dragged(496, 700), [5000, 7000]);
});

test("its label is shortened where the column of names is narrow", () => {
  const range = new TimeRange();
  range.grow(1000);
  const strip = new Strip(range, () => undefined);
  const trace = traceOf([call(-1, 0, 0, { compute_infer_us: 900 })]);
  const written = (left: number): string => {
    strip.paint(trace, new Plane(range, left, 1000, 1200), {} as Colours);
    return penOf(strip.element).painted.join("").match(/(?:concurrent calls, )?max 1/)![0];
  };

  assert.deepEqual([220, 98].map(written), ["concurrent calls, max 1", "max 1"]);
});
