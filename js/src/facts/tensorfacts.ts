/** Facts about the values of a tensor: statistics, histogram, strings. */

import { h, svg } from "../page/dom.ts";
import { count, percent, value } from "../page/format.ts";
import type { Histogram, Preview, Stats, TextPreview } from "../trace/header.ts";

/** Return the statistics of a tensor. */
export function statistics({ count: size, min, max, mean, std, nan, inf, zeros }: Stats): HTMLElement {
  const facts: [string, string][] = [
    ["min", value(min)],
    ["mean", value(mean)],
    ["zeros", percent(zeros, size)],
    ["max", value(max)],
    ["std", value(std)],
    ["NaN", count(nan)],
  ];
  if (inf) facts.push(["Inf", count(inf)]);
  return factGrid(facts);
}

/** Return facts in three columns. */
export function factGrid(facts: [string, string][]): HTMLElement {
  return h(
    "div",
    { class: "facts" },
    facts.map(([name, text]) => h("div", {}, name, h("b", {}, text))),
  );
}

/** Return the bars of a histogram above its bounds. */
export function distribution(
  { low, high, counts }: Histogram,
  what: string,
  show = value,
): HTMLElement[] {
  const [width, height] = [6, 46];
  const most = Math.max(1, ...counts);
  const bars = counts.map((each, k) => {
    const tall = each ? Math.max(1.5, (each / most) * (height - 4)) : 0;
    return svg("rect", {
      class: "fill-infer",
      x: k * width + 0.5,
      y: height - tall,
      width: width - 1,
      height: tall,
    });
  });
  const label = `Histogram of ${what} from ${show(low)} to ${show(high)}`;
  const box = {
    class: "histogram",
    viewBox: `0 0 ${counts.length * width} ${height}`,
    preserveAspectRatio: "none",
  };
  const picture = svg("svg", { ...box, role: "img", "aria-label": label }, bars);
  const bounds = h(
    "div",
    { class: "caption" },
    h("span", {}, show(low)),
    h("span", {}, show(high)),
  );
  return [h("div", {}, picture), bounds];
}

/** Whether a preview is that of a tensor without strings. */
export function isEmptyText(preview: Preview): boolean {
  return preview.kind === "text" && preview.strings.length === 0;
}

/** Return the strings of a preview with their numbers. */
export function texts({ strings, count: all }: TextPreview): HTMLElement[] {
  const lines = strings.map((text, k) =>
    h("div", {}, h("span", { class: "number" }, String(k)), h("span", {}, text)),
  );
  const list = h(
    "div",
    { class: "strings code", tabindex: 0, role: "group", "aria-label": "Strings" },
    lines,
  );
  return strings.length < all
    ? [list, h("div", { class: "caption" }, `first ${count(strings.length)} of ${count(all)}`)]
    : [list];
}
