/** A small slice as a table of numbers on the colours of the heatmap. */

import { h } from "../page/dom.ts";
import { pixelsOf } from "./picture.ts";
import type { GridPreview, ImagePreview } from "../trace/header.ts";

/** Maximum number of columns; a longer vector is wrapped. */
const MAX_COLUMNS = 6;
/** Maximum length of a number; longer ones are rounded, the tooltip has them in full. */
const MAX_CHARACTERS = 7;
/** Luminance from which text is dark. */
const LIGHT = 118;

/** Return the number of columns; 0 if the slice is not shown as a table. */
export function columnsOf(picture: GridPreview | ImagePreview): number {
  if (picture.kind !== "grid" || !picture.values?.length) return 0;
  if (picture.rows === 1) return Math.min(MAX_COLUMNS, picture.columns);
  return picture.columns <= MAX_COLUMNS ? picture.columns : 0;
}

/** Return a number that fits in a cell. */
export function shortened(text: string): string {
  const number = Number(text);
  if (text.length <= MAX_CHARACTERS || !Number.isFinite(number)) return text;
  const roundings = [5, 4, 3, 2].map((digits) => number.toPrecision(digits));
  return roundings.find((each) => each.length <= MAX_CHARACTERS) ?? number.toExponential(1);
}

/** Return an element for each number. */
export function cells(picture: GridPreview, data: Uint8Array): HTMLElement[] {
  const pixels = pixelsOf(picture, data);
  return (picture.values ?? []).map((text, k) => {
    const [red, green, blue, alpha] = pixels.subarray(4 * k, 4 * k + 4);
    const at = [...(picture.rows > 1 ? [Math.floor(k / picture.columns)] : []), k % picture.columns];
    const attributes = { title: `[${at.join(", ")}] ${text}` };
    if (alpha === 0) return h("span", attributes, shortened(text));
    const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT;
    const style = {
      background: `rgb(${red} ${green} ${blue})`,
      color: light ? "#000000" : "#ffffff",
    };
    return h("span", { ...attributes, style }, shortened(text));
  });
}
