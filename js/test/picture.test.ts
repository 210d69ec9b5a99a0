import assert from "node:assert/strict";
import { test } from "node:test";

import {
  imageLayout,
  leadingAxes,
  pixelsOf,
  proportion,
  scaleOf,
  valueOf,
} from "../src/tensors/picture.ts";
import type { GridPreview } from "../src/trace/header.ts";

function grid(low: number | null, high: number | null): GridPreview {
  return {
    kind: "grid",
    index: [],
    rows: 1,
    columns: 4,
    of: [1, 4],
    data: [0, 4],
    low,
    high,
    reduced: "",
  };
}

test("levels lie evenly between low and high, the last one means no number", () => {
  assert.deepEqual(
    [0, 127, 254].map((level) => valueOf(grid(-1, 1), level)),
    [-1, 0, 1],
  );
  assert.equal(valueOf(grid(-1, 1), 255), null);
  assert.equal(valueOf(grid(null, null), 3), null);
});

test("values on both sides of zero get a scale symmetric about zero", () => {
  assert.deepEqual(scaleOf(grid(-4, 3)), [-4, 4]);
  assert.deepEqual(scaleOf(grid(1, 3)), [1, 3]);
  assert.deepEqual(scaleOf(grid(-3, 0)), [-3, 0]);
});

test("zero is the neutral colour of a symmetric scale", () => {
  const [red, green, blue] = pixelsOf(grid(-1, 1), Uint8Array.of(127));

  assert.ok(Math.min(red, green, blue) > 240);
});

test("what is not a number stays transparent", () => {
  const pixels = pixelsOf(grid(0, 1), Uint8Array.of(0, 255));

  assert.deepEqual([pixels[3], pixels[7]], [255, 0]);
});

test("a constant tensor has one colour", () => {
  const pixels = pixelsOf(grid(5, 5), Uint8Array.of(0, 254));

  assert.deepEqual([...pixels.slice(0, 4)], [...pixels.slice(4)]);
});

test("images come as red, green, blue", () => {
  const image = {
    kind: "image" as const,
    index: [],
    rows: 1,
    columns: 2,
    of: [1, 2] as [number, number],
    layout: "HWC" as const,
    data: [0, 6] as [number, number],
  };

  assert.deepEqual(
    [...pixelsOf(image, Uint8Array.of(1, 2, 3, 4, 5, 6))],
    [1, 2, 3, 255, 4, 5, 6, 255],
  );
});

test("image mode is offered for HWC with 1, 3 or 4 channels and CHW with 3", () => {
  const shapes = [
    [1, 64, 48, 3],
    [64, 48, 1],
    [64, 48, 4],
    [1, 3, 64, 48],
    [64, 48, 2],
    [24, 4],
    [3, 4, 4],
    [],
  ];

  assert.deepEqual(
    shapes.map((each) => imageLayout(each, "FP32")),
    ["HWC", "HWC", "HWC", "CHW", null, null, null, null],
  );
  assert.equal(imageLayout([64, 48, 3], "BYTES"), null);
});

test("sliders move along the axes before the plane", () => {
  assert.deepEqual(leadingAxes([2, 3, 48, 64], "grid"), [2, 3]);
  assert.deepEqual(leadingAxes([2, 3, 48, 64], "image"), [2]);
  assert.deepEqual(leadingAxes([7], "grid"), []);
  assert.deepEqual(leadingAxes([2, 48, 64, 3], "grid"), [2, 3]);
});

test("a slice is shown in its own proportions, however it was reduced", () => {
  assert.equal(proportion([576, 1152]), 2);
  assert.equal(proportion([1, 4000]), 8);
  assert.equal(proportion([4000, 1]), 1 / 4);
});
