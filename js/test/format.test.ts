import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, clip, counted, percent, shape, time, value, visible } from "../src/page/format.ts";

test("times keep three digits in a readable unit", () => {
  const shown = [0, 0.25, 7.5, 900, 999.7, 2010, 11_380, 76_190, 489_000, 6_020_000].map(time);

  assert.deepEqual(shown, [
    "0 µs",
    "250 ns",
    "7.50 µs",
    "900 µs",
    "1.00 ms",
    "2.01 ms",
    "11.4 ms",
    "76.2 ms",
    "489 ms",
    "6.02 s",
  ]);
});

test("what was not recorded is a dash, never a zero", () => {
  assert.deepEqual([time(NaN), value(null), percent(1, 0)], ["–", "–", "–"]);
});

test("sizes, values and shapes are short", () => {
  assert.deepEqual(
    [bytes(900), bytes(4.7 * 2 ** 20), bytes(3 * 2 ** 30)],
    ["900 B", "4.7 MiB", "3.0 GiB"],
  );
  assert.deepEqual(
    [value(0), value(1.03812), value(5.45e-5), value(255)],
    ["0", "1.038", "5.45e-5", "255"],
  );
  assert.deepEqual([shape([1, 3, 640]), shape([])], ["[1 × 3 × 640]", "[]"]);
  assert.deepEqual([counted(1, "call"), counted(9999, "call")], ["1 call", "9,999 calls"]);
});

test("a share has one digit after the point", () => {
  assert.deepEqual([percent(1, 3), percent(2, 2), percent(0, 5)], ["33.3 %", "100.0 %", "0.0 %"]);
});

test("long names keep both ends", () => {
  assert.equal(clip("crop_recognizer_large_v12", 16), "crop_recogn…_v12");
  assert.equal(clip("short", 16), "short");
  assert.equal(clip("\u202e".repeat(9), 16), "⟨U+202E⟩⟨U+…02E⟩");
});

test("characters that hide or reorder text become visible marks", () => {
  assert.equal(visible("a\u202eb\u200bc\u0007"), "a⟨U+202E⟩b⟨U+200B⟩c␇");
  assert.equal(visible("two\n\tlines, größer"), "two\n\tlines, größer");
});
