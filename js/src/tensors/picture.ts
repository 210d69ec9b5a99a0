/** From the bytes of a preview to pixels, and the views that a shape allows. Pure. */

import type { GridPreview, ImagePreview } from "../trace/header.ts";

/** Cividis, for values on one side of zero: it is monotone in lightness for every kind of vision. */
const SEQUENTIAL = [
  "#00224e",
  "#1a386f",
  "#434e6c",
  "#5f6270",
  "#7d7c78",
  "#9c9074",
  "#bda269",
  "#dfbb4e",
  "#fee838",
];
/** Blue, white, orange, for values on both sides of zero. */
const DIVERGING = [
  "#084081",
  "#4389be",
  "#9ecae1",
  "#deebf2",
  "#f7f6f3",
  "#fae2c8",
  "#f5b06e",
  "#d6701c",
  "#8c3c04",
];
const NOT_A_NUMBER = 255;
const LEVELS = 254;
/** Minimum side of an image. */
const MIN_SIDE = 8;

export type Pixels = Uint8ClampedArray<ArrayBuffer>;

/** Return red, green, blue, alpha of every element; NaN is transparent. */
export function pixelsOf(preview: GridPreview | ImagePreview, data: Uint8Array): Pixels {
  return preview.kind === "image" ? imagePixels(data) : gridPixels(preview, data);
}

function imagePixels(data: Uint8Array): Pixels {
  const pixels = new Uint8ClampedArray((data.length / 3) * 4).fill(255);
  for (let from = 0, to = 0; from < data.length; from += 3, to += 4) {
    pixels.set(data.subarray(from, from + 3), to);
  }
  return pixels;
}

function gridPixels(preview: GridPreview, data: Uint8Array): Pixels {
  const table = colourTable(preview);
  const pixels = new Uint8ClampedArray(data.length * 4);
  data.forEach((level, k) => level !== NOT_A_NUMBER && pixels.set(table[level], 4 * k));
  return pixels;
}

/** Return the bounds of the colour scale, symmetric if the values cross zero. */
export function scaleOf({ low, high }: GridPreview): [low: number, high: number] {
  const [from, to] = [low ?? 0, high ?? 0];
  const most = Math.max(-from, to);
  return from < 0 && to > 0 ? [-most, most] : [from, to];
}

/** Return the colours of the scale, from its lower to its upper bound. */
export function scaleColours(preview: GridPreview): readonly string[] {
  const [from, to] = scaleOf(preview);
  return from < 0 && to > 0 ? DIVERGING : SEQUENTIAL;
}

/** Return the value of a level; null for NaN. */
export function valueOf({ low, high }: GridPreview, level: number): number | null {
  if (level === NOT_A_NUMBER || low === null || high === null) return null;
  return low + (level / LEVELS) * (high - low);
}

function colourTable(preview: GridPreview): Uint8ClampedArray[] {
  const [from, to] = scaleOf(preview);
  const stops = scaleColours(preview).map(channels);
  return Array.from({ length: LEVELS + 1 }, (_, level) => {
    const value = valueOf(preview, level) ?? from;
    return blend(stops, to > from ? (value - from) / (to - from) : 0.5);
  });
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function blend(stops: number[][], share: number): Uint8ClampedArray {
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const lower = Math.min(stops.length - 2, Math.floor(at));
  const mixed = stops[lower].map((from, k) => from + (stops[lower + 1][k] - from) * (at - lower));
  return Uint8ClampedArray.of(...mixed, 255);
}

/** Return the ratio of width to height of a slice; a single row is shown as a band. */
export function proportion([rows, columns]: readonly [number, number]): number {
  return Math.min(8, Math.max(1 / 4, columns / rows));
}

/** How a tensor of this shape can be looked at as an image. */
export function imageLayout(shape: readonly number[], datatype: string): "HWC" | "CHW" | null {
  if (datatype === "BYTES" || shape.length < 3) return null;
  const [first, middle, last] = shape.slice(-3);
  if ([1, 3, 4].includes(last) && Math.min(first, middle) >= MIN_SIDE) return "HWC";
  return first === 3 && Math.min(middle, last) >= MIN_SIDE ? "CHW" : null;
}

/** The axes before the plane that is drawn, which sliders move along. */
export function leadingAxes(shape: readonly number[], mode: "grid" | "image"): readonly number[] {
  if (mode === "grid" && imageLayout(shape, "") === "HWC")
    return [...shape.slice(0, -3), shape[shape.length - 1]];
  return shape.slice(0, Math.max(0, shape.length - (mode === "image" ? 3 : 2)));
}
