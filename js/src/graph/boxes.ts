/** Boxes of the call graph: name, calls, own time, and a bar as share of the largest own time. */

import { shortDelta, signOf, toneOf } from "../page/delta.ts";
import { setText, svg } from "../page/dom.ts";
import { clip, count, counted, time } from "../page/format.ts";
import type { Point } from "./layout.ts";
import type { ModelNode } from "../trace/modelgraph.ts";
import type { PhaseSums } from "../trace/phases.ts";

export const BOX_HEIGHT = 42;
const MIN_WIDTH = 96;
const PADDING = 8;
const NAME_LENGTH = 22;
const NAME_SIZE = 12;
/** Share of failed calls from which a box is marked: one in hundreds is not. */
export const ERROR_SHARE = 0.05;

export interface Box {
  node: ModelNode;
  element: SVGGElement;
  frame: SVGRectElement;
  name: SVGTextElement;
  left: SVGTextElement;
  right: SVGTextElement;
  track: SVGRectElement;
  bars: SVGGElement;
}

/** Return the width of the widest name or second line. */
export function boxWidth(nodes: readonly ModelNode[], font: string): number {
  const widths = nodes.map((node) => {
    const [left, right] = [leftText(node), rightText(node)];
    const second = measure(left, `10.5px ${font}`) + measure(right, `600 10.5px ${font}`) + 10;
    return Math.max(nameWidth(node, font), second);
  });
  return Math.ceil(Math.max(MIN_WIDTH, ...widths) + 2 * PADDING);
}

/** Return the font size in which a name fills its box, for a graph that is zoomed out. */
export function grownSize(node: ModelNode, width: number, font: string): number {
  return (NAME_SIZE * (width - 2 * PADDING)) / Math.max(1, nameWidth(node, font));
}

function nameWidth({ name }: ModelNode, font: string): number {
  return measure(clip(name, NAME_LENGTH), `600 ${NAME_SIZE}px ${font}`);
}

let pen: CanvasRenderingContext2D | null = null;

function measure(text: string, font: string): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return 7 * text.length;
  pen.font = font;
  return pen.measureText(text).width;
}

/** The largest own time of a model, which fills the bar of its box. */
export function largestOwn(nodes: readonly ModelNode[]): number {
  return Math.max(1e-9, ...nodes.map((node) => total(ownPhases(node.phases))));
}

/** An empty box, to be filled by `updateBox`. */
export function newBox(node: ModelNode): Box {
  const frame = svg("rect", { class: "frame", rx: 6 });
  const [name, left] = [svg("text", { class: "name" }), svg("text", { class: "second" })];
  const right = svg("text", { class: "second", "text-anchor": "end" });
  const [track, bars] = [svg("rect", { class: "track", height: 3 }), svg("g")];
  // The text is the name of the button; spaces separate its words.
  const element = svg(
    "g",
    { role: "button", tabindex: -1 },
    frame,
    name,
    " ",
    left,
    " ",
    right,
    track,
    bars,
  );
  return { node, element, frame, name, left, right, track, bars };
}

function leftText({ count: calls, own, models }: ModelNode): string {
  if (models.length > 1) return `${counted(calls, "call")} ${time(own)}`;
  return calls > 1 ? `×${count(calls)} ${time(own)}` : time(own);
}

function rightText({ before, errors, device, own }: ModelNode): string {
  if (before !== undefined)
    return `${errors ? "⚠ " : ""}${before === null ? "new" : shortDelta(own, before)}`;
  return errors ? `⚠ ${count(errors)}` : device;
}

function rightClass({ before, errors, own }: ModelNode): string {
  if (before === undefined) return errors ? "failed" : "";
  return `tone-${toneOf(before === null ? "new" : signOf(own, before))}`;
}

function ownPhases({ pre, queue, input, infer, between, output, post }: PhaseSums): [string, number][] {
  return [
    ["queue", pre + queue],
    ["input", input],
    ["infer", infer],
    ["between", between],
    ["output", output + post],
  ];
}

function total(phases: [string, number][]): number {
  return phases.reduce((sum, [, us]) => sum + us, 0);
}

/** Update texts, bar and position of a box. */
export function updateBox(
  box: Box,
  node: ModelNode,
  at: Point,
  width: number,
  largest: number,
): void {
  const [x, y] = [at.x - width / 2, at.y - BOX_HEIGHT / 2];
  box.node = node;
  place(box.frame, { x, y, width, height: BOX_HEIGHT });
  place(box.name, { x: x + PADDING, y: y + 15 });
  place(box.left, { x: x + PADDING, y: y + 29 });
  place(box.right, { x: x + width - PADDING, y: y + 29 });
  place(box.track, { x: x + PADDING, y: y + BOX_HEIGHT - 7, width: width - 2 * PADDING });
  const name = clip(node.name, NAME_LENGTH);
  setText(box.name, name);
  setText(box.left, leftText(node));
  setText(box.right, rightText(node));
  box.element.setAttribute("class", boxClass(node, box.element.classList.contains("selected")));
  box.right.setAttribute("class", `second ${rightClass(node)}`);
  box.element.setAttribute("aria-description", describe(node));
  drawShare(box, node, x + PADDING, y + BOX_HEIGHT - 7, (width - 2 * PADDING) / largest);
}

function boxClass({ errors, count: calls, kind }: ModelNode, selected: boolean): string {
  const failing = errors / calls > ERROR_SHARE;
  return ["box", failing && "failing", kind === "span" && "span", selected && "selected"]
    .filter(Boolean)
    .join(" ");
}

function describe({ name, count: calls, own, errors, before }: ModelNode): string {
  const failed = errors ? `, ${counted(errors, "error")}` : "";
  const then = typeof before === "number" ? `, before ${time(before)}` : "";
  return `${name}: ${counted(calls, "call")}, own time ${time(own)}${then}${failed}`;
}

/** Draw the own time by phase, scaled to the largest own time. */
function drawShare(box: Box, node: ModelNode, x: number, y: number, scale: number): void {
  let from = x;
  const parts = ownPhases(node.phases).map(([phase, us]) => {
    const bar = svg("rect", { class: `fill-${phase}`, x: from, y, width: us * scale, height: 3 });
    from += us * scale;
    return bar;
  });
  box.bars.replaceChildren(...parts);
}

function place(element: SVGElement, attributes: Record<string, number>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}
