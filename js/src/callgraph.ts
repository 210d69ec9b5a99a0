/** The call graph: one box per model, one edge per pair of caller and callee, on SVG. */

import { svg, h, setText } from "./dom.ts";
import { clip, count, counted, time } from "./format.ts";
import { layered, type Layout, type Point, type Route } from "./layout.ts";
import type { Session } from "./session.ts";
import type { ModelEdge, ModelGraph, ModelNode, PhaseSums, Trace } from "./trace.ts";

const BOX_HEIGHT = 42;
const PADDING = 8;
const NAME_LENGTH = 26;
/** A few failures among many calls must not paint the graph. */
const ERROR_SHARE = 0.05;
/** Below this scale secondary text goes and names grow. */
const FAR = 0.62;
const [LEAST_HEIGHT, MOST_HEIGHT] = [150, 300];
const MARGIN = 44;

interface Box {
  node: ModelNode;
  element: SVGGElement;
  frame: SVGRectElement;
  name: SVGTextElement;
  left: SVGTextElement;
  right: SVGTextElement;
  track: SVGRectElement;
  bars: SVGGElement;
}

/** What the graph emphasises. */
export interface GraphMarks {
  model: number | null;
  /** Edges to emphasise, as "from>to"; all edges of the model if null. */
  path: Set<string> | null;
  /** Models that stay bright; all if null. */
  lit: Set<number> | null;
}

export class CallGraph {
  readonly element: HTMLElement;
  #session: Session;
  #svg: SVGSVGElement;
  #edges = svg("g");
  #nodes = svg("g");
  #content = svg("g", {}, this.#edges, this.#nodes);
  #boxes = new Map<number, Box>();
  #graph: ModelGraph = { nodes: [], edges: [] };
  #layout: Layout | null = null;
  #edgeElements: SVGGElement[] = [];
  #view = { scale: 1, x: 0, y: 0 };
  #shape = "";

  constructor(session: Session, id: string) {
    this.#session = session;
    const arrow = svg("path", { d: "M0 1 L7 4 L0 7z", fill: "context-stroke" });
    const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" };
    const marker = svg("marker", { id: `${id}-arrow`, ...size }, arrow);
    const label = "Call graph. Arrow keys move between models, Enter selects.";
    this.#svg = svg("svg", { role: "group", "aria-label": label }, svg("defs", {}, marker), this.#content);
    this.#svg.style.setProperty("--arrow", `url(#${id}-arrow)`);
    this.element = h("div", { class: "callgraph" }, this.#svg, legend(), this.#buttons());
    this.#listen();
  }

  /** Draw the models of a trace; returns the height that shows the graph well. */
  draw(trace: Trace): number {
    this.#graph = trace.graph();
    const width = this.#boxWidth();
    const [paneWidth, fit] = [this.#paneWidth(), (layout: Layout) => this.#scaleFor(layout)];
    this.#layout = chooseLayout(this.#graph, width, paneWidth, fit);
    this.#drawEdges(this.#layout, width);
    this.#drawBoxes(this.#layout, width);
    const wanted = Math.round(this.#layout.height * fit(this.#layout) + MARGIN);
    const shape = `${[...this.#boxes.keys()]} ${paneWidth}`;
    if (shape !== this.#shape) this.fit(Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, wanted)));
    this.#shape = shape;
    return Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, wanted));
  }

  /** Emphasise a model, a path of edges, and dim what is unrelated. */
  mark({ model, path, lit }: GraphMarks): void {
    for (const [id, { element }] of this.#boxes) {
      element.classList.toggle("selected", id === model);
      element.setAttribute("aria-pressed", String(id === model));
      element.classList.toggle("dim", lit !== null && !lit.has(id));
    }
    this.#graph.edges.forEach(({ from, to }, k) => {
      const onPath = path ? path.has(`${from}>${to}`) : from === model || to === model;
      this.#edgeElements[k].classList.toggle("path", model !== null && onPath);
      this.#edgeElements[k].classList.toggle("dim", lit !== null && !(lit.has(from) && lit.has(to)));
    });
  }

  /** Show the whole graph in a pane of this height. */
  fit(height = this.element.clientHeight): void {
    const width = this.#paneWidth();
    if (!this.#layout || width === 0) return;
    const { width: across, height: along } = this.#layout;
    const scale = Math.max(0.2, Math.min(1, (width - 32) / across, (height - 38) / along));
    const top = Math.max(8, (height - 24 - along * scale) / 2);
    this.#view = { scale, x: (width - across * scale) / 2, y: top };
    this.#apply();
  }

  dispose(): void {
    this.element.remove();
  }

  #paneWidth(): number {
    return this.element.clientWidth || 800;
  }

  #scaleFor({ width, height }: Layout): number {
    return Math.min(1, (this.#paneWidth() - 32) / width, (MOST_HEIGHT - 30) / (height + 34));
  }

  /** As wide as the widest name or second line, within reason. */
  #boxWidth(): number {
    const { font } = this.#session.colours;
    const pen = document.createElement("canvas").getContext("2d");
    if (!pen) return 140;
    const measure = (text: string, style: string): number => {
      pen.font = `${style} ${font}`;
      return pen.measureText(text).width;
    };
    const widths = this.#graph.nodes.map((node) => {
      const second = measure(leftText(node), "10.5px") + measure(rightText(node), "600 10.5px") + 10;
      return Math.max(measure(clip(node.name, NAME_LENGTH), "600 12px"), second);
    });
    return Math.ceil(Math.max(96, ...widths) + 2 * PADDING);
  }

  #drawEdges(layout: Layout, width: number): void {
    this.#edgeElements = this.#graph.edges.map((edge, k) => {
      const box = layout.boxes.get(edge.from) ?? { x: 0, y: 0 };
      const route = layout.routes[k];
      const line = route.points.length ? curve(route, layout.direction) : loop(box, width);
      const at = route.points.length ? labelPlace(route, layout.direction) : { x: box.x, y: box.y - BOX_HEIGHT / 2 - 18 };
      return edgeElement(edge, line, at);
    });
    this.#edges.replaceChildren(...this.#edgeElements);
  }

  #drawBoxes(layout: Layout, width: number): void {
    const largest = Math.max(1e-9, ...this.#graph.nodes.map((node) => total(ownPhases(node.phases))));
    const shown = new Set(this.#graph.nodes.map((node) => node.id));
    for (const [id, box] of this.#boxes) {
      if (shown.has(id)) continue;
      box.element.remove();
      this.#boxes.delete(id);
    }
    for (const node of this.#graph.nodes) {
      // Boxes are kept while a run grows: a click needs one element from press to release.
      const box = this.#boxes.get(node.id) ?? this.#newBox(node);
      updateBox(box, node, layout.boxes.get(node.id) ?? { x: 0, y: 0 }, width, largest);
    }
    const boxes = [...this.#boxes.values()];
    if (boxes.length && !boxes.some((box) => box.element.getAttribute("tabindex") === "0")) {
      boxes[0].element.setAttribute("tabindex", "0");
    }
  }

  #newBox(node: ModelNode): Box {
    const frame = svg("rect", { class: "frame", rx: 6 });
    const [name, left] = [svg("text", { class: "name" }), svg("text", { class: "second" })];
    const right = svg("text", { class: "second", "text-anchor": "end" });
    const [track, bars] = [svg("rect", { class: "track", height: 3 }), svg("g")];
    const parts = { frame, name, left, right, track, bars };
    const element = svg("g", { role: "button", tabindex: -1 }, frame, name, left, right, track, bars);
    const box = { node, element, ...parts };
    element.addEventListener("click", () => this.#select(box));
    element.addEventListener("pointermove", (event) => this.#hover(box, event));
    element.addEventListener("pointerleave", () => this.#hover(null));
    this.#boxes.set(node.id, box);
    this.#nodes.append(element);
    return box;
  }

  /** A model with one call is that call, which has more to show. */
  #select({ node, element }: Box): void {
    this.#roam(element);
    if (node.models > 1) return;
    const { model } = this.#session.trace.calls;
    const selection = node.count === 1 ? { kind: "call" as const, call: model.indexOf(node.id) } : null;
    this.#session.select(selection ?? { kind: "model", model: node.id }, { reveal: true });
  }

  #hover(box: Box | null, event?: MouseEvent): void {
    this.#session.hover(box && { model: box.node.id });
    const { name, phases, count: calls } = box?.node ?? { name: "", phases: null, count: 0 };
    this.#session.tip(phases && { title: `${name} · ${counted(calls, "call")}`, phases }, event);
  }

  #roam(to: SVGGElement): void {
    for (const { element } of this.#boxes.values()) element.setAttribute("tabindex", element === to ? "0" : "-1");
    to.focus();
  }

  #listen(): void {
    this.#svg.addEventListener("keydown", (event) => this.#key(event));
    this.#svg.addEventListener("dblclick", () => this.fit());
    this.#svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.#svg.addEventListener("pointerdown", (event) => this.#drag(event));
  }

  #key(event: KeyboardEvent): void {
    const box = [...this.#boxes.values()].find(({ element }) => element === event.target);
    if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.#select(box);
    else if (event.key.startsWith("Arrow")) this.#move(box, event.key);
    else if (event.key === "?") this.#session.command("help");
    else if (event.key === "/") this.#session.command("filter");
    else if (event.key === "Escape") this.#session.command("clear");
    else return;
    event.preventDefault();
  }

  #move(from: Box, key: string): void {
    const here = this.#layout?.boxes.get(from.node.id);
    if (!here) return;
    let nearest: { box: Box; distance: number } | null = null;
    for (const box of this.#boxes.values()) {
      const there = this.#layout?.boxes.get(box.node.id);
      const distance = there && distanceTowards(key, there.x - here.x, there.y - here.y);
      if (!distance || (nearest && nearest.distance <= distance)) continue;
      nearest = { box, distance };
    }
    if (nearest) this.#roam(nearest.box.element);
  }

  /** The plain wheel belongs to the page. */
  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top } = this.#svg.getBoundingClientRect();
    this.#zoom(Math.exp(-event.deltaY * 0.002), event.clientX - left, event.clientY - top);
  }

  #drag(start: PointerEvent): void {
    if ((start.target as Element).closest("[role=button]")) return;
    const { x, y } = this.#view;
    this.#svg.setPointerCapture(start.pointerId);
    const move = (event: PointerEvent): void => {
      this.#view = { ...this.#view, x: x + event.clientX - start.clientX, y: y + event.clientY - start.clientY };
      this.#apply();
    };
    const end = (): void => this.#svg.removeEventListener("pointermove", move);
    this.#svg.addEventListener("pointermove", move);
    this.#svg.addEventListener("pointerup", end, { once: true });
    this.#svg.addEventListener("pointercancel", end, { once: true });
  }

  #zoom(factor: number, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2): void {
    const scale = Math.min(3, Math.max(0.2, this.#view.scale * factor));
    const ratio = scale / this.#view.scale;
    this.#view = { scale, x: x - (x - this.#view.x) * ratio, y: y - (y - this.#view.y) * ratio };
    this.#apply();
  }

  #apply(): void {
    const { scale, x, y } = this.#view;
    this.#svg.classList.toggle("far", scale < FAR);
    this.#content.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  #buttons(): HTMLElement {
    const button = (text: string, title: string, onclick: () => void): HTMLElement =>
      h("button", { class: "quiet", type: "button", title, "aria-label": `${text} ${title}`, onclick }, text);
    return h(
      "div",
      { class: "zoom" },
      button("−", "zoom the graph out", () => this.#zoom(0.8)),
      button("+", "zoom the graph in", () => this.#zoom(1.25)),
      button("fit", "the graph into its pane", () => this.fit()),
    );
  }
}

function legend(): HTMLElement {
  const entry = (kind: string): HTMLElement => h("span", {}, h("i", { class: kind }), kind);
  return h("div", { class: "edges", "aria-hidden": "true" }, entry("call"), entry("async"), entry("stream"));
}

/** Top-down like the timeline, unless left-to-right fits clearly better. */
function chooseLayout(graph: ModelGraph, width: number, paneWidth: number, fit: (layout: Layout) => number): Layout {
  const size = { width, height: BOX_HEIGHT };
  const available = (paneWidth - 32) * 1.12;
  const { nodes, edges } = graph;
  const down = layered(nodes, edges, { ...size, rankGap: 46, siblingGap: 12, direction: "down", available });
  const right = layered(nodes, edges, { ...size, rankGap: 62, siblingGap: 10, direction: "right", available });
  return fit(down) >= fit(right) - 0.08 ? down : right;
}

function leftText({ count: calls, own, models }: ModelNode): string {
  if (models > 1) return `${counted(calls, "call")} ${time(own)}`;
  return calls > 1 ? `×${count(calls)} ${time(own)}` : time(own);
}

function rightText({ errors, device }: ModelNode): string {
  return errors ? `⚠ ${count(errors)}` : device;
}

function ownPhases({ pre, queue, input, infer, output, post }: PhaseSums): [string, number][] {
  return [["queue", pre + queue], ["input", input], ["infer", infer], ["output", output + post]];
}

function total(phases: [string, number][]): number {
  return phases.reduce((sum, [, us]) => sum + us, 0);
}

function updateBox(box: Box, node: ModelNode, at: Point, width: number, largest: number): void {
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
  box.right.classList.toggle("failed", node.errors > 0);
  box.element.setAttribute("aria-label", `${name} ${leftText(node)} ${rightText(node)}`.trim());
  box.element.setAttribute("aria-description", describe(node));
  drawShare(box, node, x + PADDING, y + BOX_HEIGHT - 7, (width - 2 * PADDING) / largest);
}

function boxClass({ errors, count: calls, kind }: ModelNode, selected: boolean): string {
  const failing = errors / calls > ERROR_SHARE;
  return ["box", failing && "failing", kind === "span" && "span", selected && "selected"].filter(Boolean).join(" ");
}

function describe({ name, count: calls, own, errors }: ModelNode): string {
  const failed = errors ? `, ${counted(errors, "error")}` : "";
  return `${name}: ${counted(calls, "call")}, own time ${time(own)}${failed}`;
}

/** The model's share of the largest own time, by phase. */
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

function edgeElement(edge: ModelEdge, d: string, at: Point): SVGGElement {
  const kind = edge.streams ? "stream" : edge.async ? "async" : "";
  const failing = edge.errors / edge.count > ERROR_SHARE ? "failing" : "";
  const label = edgeLabel(edge);
  const width = label.length * 6.4 + 4;
  const back = { class: "label", x: at.x - width / 2, y: at.y - 7, width, height: 13, rx: 3 };
  return svg(
    "g",
    { class: `edge ${kind} ${failing}` },
    svg("path", { d }),
    label && svg("rect", back),
    label && svg("text", { x: at.x, y: at.y + 3.5, "text-anchor": "middle" }, label),
  );
}

function edgeLabel({ count: calls, streams, responses }: ModelEdge): string {
  const times = calls > 1 ? `×${count(calls)}` : "";
  return streams ? `${times} ${count(responses)} resp`.trim() : times;
}

/** Straight through ranks, curved between them, ending short of the box for the arrow. */
function curve({ points, back }: Route, direction: "down" | "right"): string {
  const down = direction === "down";
  const sign = back ? -1 : 1;
  let [from] = points;
  let path = `M${from.x} ${from.y}`;
  points.slice(1).forEach((point, k) => {
    const last = k === points.length - 2;
    const to = !last ? point : down ? { x: point.x, y: point.y - 2 * sign } : { x: point.x - 2 * sign, y: point.y };
    path += segment(from, to, down);
    from = to;
  });
  return path;
}

function segment(from: Point, to: Point, down: boolean): string {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  if (down ? dx === 0 : dy === 0) return ` L${to.x} ${to.y}`;
  if (down) return ` C${from.x} ${from.y + 0.45 * dy} ${to.x} ${to.y - 0.85 * dy} ${to.x} ${to.y}`;
  return ` C${from.x + 0.5 * dx} ${from.y} ${to.x - 0.5 * dx} ${to.y} ${to.x} ${to.y}`;
}

function labelPlace({ points, back }: Route, direction: "down" | "right"): Point {
  const { x, y } = points[points.length - 1];
  const sign = back ? -1 : 1;
  return direction === "down" ? { x, y: y - 16 * sign } : { x: x - 26 * sign, y };
}

/** Recursion: a loop above the box. */
function loop({ x, y }: Point, width: number): string {
  const top = y - BOX_HEIGHT / 2;
  const reach = Math.min(18, width / 3);
  return `M${x - reach} ${top} C${x - reach} ${top - 22} ${x + reach} ${top - 22} ${x + reach} ${top - 2}`;
}

/** How far a box lies in the direction of an arrow key; 0 if it does not. */
function distanceTowards(key: string, dx: number, dy: number): number {
  switch (key) {
    case "ArrowRight":
      return dx > 0 ? Math.hypot(dx, 3 * dy) : 0;
    case "ArrowLeft":
      return dx < 0 ? Math.hypot(dx, 3 * dy) : 0;
    case "ArrowDown":
      return dy > 0 ? Math.hypot(2 * dx, dy) : 0;
    default:
      return dy < 0 ? Math.hypot(2 * dx, dy) : 0;
  }
}
