import assert from "node:assert/strict";
import { test } from "node:test";

import { ticks, TimeRange } from "../src/timeline/range.ts";

function rangeOf(wall: number): TimeRange {
  const range = new TimeRange();
  range.grow(wall);
  return range;
}

test("the whole run is shown and grows with it until a zoom by hand", () => {
  const range = rangeOf(100);
  range.grow(200);
  assert.ok(range.isWhole && range.to >= 200);

  range.zoom(0.5);
  const { from, to } = range;
  range.grow(400);

  assert.equal(range.following, false);
  assert.deepEqual([range.from, range.to], [from, to]);
});

test("zooming keeps the time under the pointer where it is", () => {
  const range = rangeOf(1000);
  const share = (200 - range.from) / range.width;
  range.zoom(0.5, 200);

  assert.ok(Math.abs((200 - range.from) / range.width - share) < 1e-9);
});

test("neither zoom nor pan leaves the run", () => {
  const range = rangeOf(1000);
  range.zoom(10);
  assert.ok(range.isWhole);

  range.show(800, 900);
  range.pan(1e6);
  assert.ok(range.to <= range.whole && Math.abs(range.width - 100) < 1e-9);
  range.pan(-1e6);
  assert.equal(range.from, 0);
});

test("ticks are round, in view, and no more than fit", () => {
  for (const [from, to] of [
    [0, 76_000],
    [12_345, 12_399],
    [0, 0.5],
  ]) {
    const range = rangeOf(100_000);
    range.show(from, to);
    const { times, step } = ticks(range, 500);

    assert.ok(times.length > 0 && times.length <= 500 / 90 + 1);
    assert.ok(times.every((us) => us >= range.from - 1e-6 && us <= range.to + 1e-6));
    assert.ok(
      [1, 2, 5, 10].some(
        (each) => Math.abs(step / 10 ** Math.floor(Math.log10(step)) - each) < 1e-6,
      ),
    );
  }
});

test("the ends of a range are distinct as text, however far it is zoomed in", () => {
  const range = rangeOf(5_039_300);
  range.show(5_039_292.1, 5_039_304.5);
  assert.equal(range.words, "5.0392921 s to 5.0393045 s");

  range.show(0, 2_519_650);
  assert.equal(range.words, "0.00 s to 2.52 s");
});
