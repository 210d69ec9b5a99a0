/** One slice of a tensor: its picture, its caption and the sliders of the axes before it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import "./page.ts";
import type { GridPreview, ImagePreview, TensorEntry } from "../src/trace/header.ts";
import type { SliceSource } from "../src/tensors/slice.ts";

const { SliceView } = await import("../src/tensors/slice.ts");

const GRID: GridPreview = {
  kind: "grid",
  rows: 2,
  columns: 4,
  of: [2, 4],
  index: [],
  data: [0, 8],
  low: 0,
  high: 254,
  reduced: "",
};

function shown(preview: GridPreview | ImagePreview, shape: number[]): InstanceType<typeof SliceView> {
  const entry = { name: "X", datatype: "FP32", shape, preview } as TensorEntry;
  const buffer = new Uint8Array(48).map((_, at) => at * 10).buffer;
  const source: SliceSource = { entry, buffer, run: "r", call: 1, tensor: 0, kernel: null };
  return new SliceView(source, preview, undefined);
}

const texts = (view: { element: HTMLElement }): (string | null)[] =>
  [...view.element.querySelectorAll(".caption:not([role]) > span")].map((each) => each.textContent);

test("a caption has the size of the slice, and of what it was reduced from", () => {
  const of: [number, number] = [20, 4];
  const sizes = [
    shown(GRID, [2, 4]),
    shown({ ...GRID, of }, [20, 4]),
    shown({ ...GRID, of: [2, 8], reduced: "stride" }, [2, 8]),
    shown({ ...GRID, index: [1, 0] }, [3, 1, 2, 4]),
    shown({ ...GRID, index: [0] }, [1, 2, 4]),
  ].map((view) => texts(view)[0]);
  assert.deepEqual(sizes, ["2 × 4", "2 × 4 of 20 × 4", "2 × 4 of 2 × 8 by stride", "[1, 0, …]  2 × 4", "2 × 4"]);
});

test("a heatmap has a scale, an image has none", () => {
  const heatmap = shown({ ...GRID, low: -1, high: 3 }, [2, 4]);
  const image = shown({ ...GRID, kind: "image", layout: "CHW", data: [0, 24] }, [3, 16, 16]);
  const scale = (view: { element: HTMLElement }): HTMLElement => view.element.querySelector<HTMLElement>(".scale")!;
  assert.deepEqual([texts(heatmap)[1], scale(heatmap).hidden], ["-3 … 3", false]);
  assert.match(scale(heatmap).style.background, /^linear-gradient\(90deg, /);
  assert.deepEqual([texts(image)[1], scale(image).hidden], ["", true]);
});

test("a heatmap without a finite value has no scale", () => {
  const view = shown({ ...GRID, low: null, high: null }, [2, 4]);
  assert.equal(texts(view)[1], "no finite value");
  assert.ok(view.element.querySelector<HTMLElement>(".scale")!.hidden);
});

test("the value under the pointer is that of the element there", () => {
  const view = shown({ ...GRID, of: [20, 8] }, [20, 8]);
  const canvas = view.element.querySelector("canvas")!;
  const { left, top } = canvas.getBoundingClientRect();
  const at = (x: number, y: number): string | null => {
    canvas.dispatchEvent(Object.assign(new Event("pointermove"), { clientX: left + x, clientY: top + y }));
    return texts(view)[1];
  };
  assert.deepEqual([at(0, 0), at(199, 99), at(120, 40)], ["[0, 0] ≈ 0", "[10, 6] ≈ 70", "[0, 4] ≈ 20"]);
  for (const [x, y] of [[200, 0], [0, 100], [-1, 0], [0, -1]]) assert.equal(at(x, y), "0 … 254");
  at(0, 0);
  canvas.dispatchEvent(new Event("pointerleave"));
  assert.equal(texts(view)[1], "0 … 254");
});

test("a picture is as high as its rows need, within limits, and as wide as its proportion", () => {
  const sized = (rows: number, of: [number, number]): string[] => {
    const { style } = shown({ ...GRID, rows, of }, of).element.querySelector("canvas")!;
    return [style.aspectRatio, style.width];
  };
  assert.deepEqual(sized(1, [1, 1]), ["1 / 1", "min(100%, 36px)"]);
  assert.deepEqual(sized(2, [2, 4]), ["2 / 1", "min(100%, 112px)"]);
  assert.deepEqual(sized(10, [10, 20]), ["2 / 1", "min(100%, 460px)"]);
});

test("small slices are numbers in cells, not a picture", () => {
  const view = shown({ ...GRID, values: [..."12345678"] }, [2, 4]);
  const [canvas, cells] = [".picture", ".cells"].map((each) => view.element.querySelector<HTMLElement>(each)!);
  assert.deepEqual([canvas.hidden, cells.hidden, cells.children.length], [true, false, 8]);
  assert.equal(cells.style.gridTemplateColumns, "repeat(4, minmax(0px, 1fr))");
  assert.equal(cells.getAttribute("aria-label"), "X, 2 × 4");
});

test("sliders of axes with several slices wait for the kernel", () => {
  const view = shown({ ...GRID, index: [1, 0, 2] }, [3, 1, 5, 2, 4]);
  const sliders = [...view.element.querySelectorAll("input")];
  assert.deepEqual(
    sliders.map((each) => [each.getAttribute("aria-label"), each.max, each.value, each.disabled]),
    [["axis 0", "2", "1", true], ["axis 2", "4", "2", true]],
  );
  assert.deepEqual([...view.element.querySelectorAll(".slider > span:last-child")].map((each) => each.textContent), ["1 / 2", "2 / 4"]);
  assert.match(view.element.querySelector(".hint")!.textContent!, /run\.widget\(\)/);
  assert.equal(shown(GRID, [1, 2, 4]).element.querySelector(".hint"), null);
});
