import assert from "node:assert/strict";
import { test } from "node:test";

import { Plane, planeOf } from "../src/timeline/plane.ts";
import { TimeRange } from "../src/timeline/range.ts";

/** A hundred microseconds on a hundred pixels, with room for labels behind. */
function plane(from = 0, to = 100): Plane {
  const range = new TimeRange();
  range.grow(1000);
  range.show(from, to);
  return new Plane(range, 50, 100, 180);
}

test("a time has a place, and a place its time", () => {
  assert.equal(plane(100, 200).x(150), 100);
  assert.equal(plane(100, 200).time(100), 150);
  assert.equal(plane(100, 200).pixel, 1);
});

test("intervals with less than a pixel between them are drawn as one", () => {
  const times = [
    [1, 2],
    [2.5, 4],
    [6, 7],
  ] as const;

  assert.deepEqual(plane().visible(times), [
    [1, 4],
    [6, 7],
  ]);
});

test("intervals that end before what is shown, or begin behind it, are left out", () => {
  const times = [
    [10, 99],
    [90, 150],
    [210, 220],
    [500, 600],
  ] as const;

  assert.deepEqual(plane(100, 200).visible(times), [
    [90, 150],
    [210, 220],
  ]);
});

test("a comparison has wider names, except in a narrow view", () => {
  const range = new TimeRange();
  const lefts = [940, 500].map((width) => [false, true].map((compared) => planeOf(range, width, compared).left));

  assert.deepEqual(lefts, [[232, 288], [190, 190]]);
});

test("names take a share of the width within limits, and a comparison has more room for labels", () => {
  const sizes = (width: number, compared = false): [left: number, width: number] => {
    const made = planeOf(new TimeRange(), width, compared);
    return [made.left, made.width];
  };
  assert.deepEqual(sizes(480, true), sizes(480));
  assert.ok(sizes(481, true)[1] < sizes(481)[1]);
  assert.deepEqual([sizes(100)[1], sizes(100, true)[1]], [50, 50]);
  const lefts = [200, 600, 700, 1000, 1500].map((width) => sizes(width)[0]);
  assert.deepEqual(lefts, [76, 228, 232, 240, 340]);
  assert.deepEqual([sizes(1000)[1], sizes(1000, true)[1]], [1000 - 240 - 82, 1000 - 288 - 140]);
});
