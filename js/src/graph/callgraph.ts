/** The call graph: one box per model, one edge per pair of caller and callee, on SVG. */

import {
  BOX_HEIGHT,
  boxWidth,
  grownSize,
  largestOwn,
  newBox,
  updateBox,
  type Box,
} from "./boxes.ts";
import { h, svg } from "../page/dom.ts";
import { edgeElement, edgeLabel, kindOf } from "./edges.ts";
import { counted } from "../page/format.ts";
import { labelArea, labelPlaces } from "./labels.ts";
import { layered, type Layout } from "./layout.ts";
import { hasLoops, LOOP_ROOM, loopLabel, withRoom } from "./loops.ts";
import { modelGraph, OTHERS, type ModelEdge, type ModelGraph, type ModelNode } from "../trace/modelgraph.ts";
import { phaseLegend } from "../facts/phasetable.ts";
import type { Selection, Session } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";
import { Viewport } from "./viewport.ts";

const [MIN_HEIGHT, MAX_HEIGHT] = [150, 300];
/** Height above and below the graph, without the legend. */
const MARGIN = 29;
const ORIGIN = { x: 0, y: 0 };

/** What the graph emphasises. */
export interface GraphMarks {
  model: number | null;
  /** Steps from model to model to emphasise; all edges of the model if null. */
  path: readonly { from: number; to: number }[] | null;
  /** Models that stay bright; all if null. */
  lit: Set<number> | null;
}

export class CallGraph {
  readonly element: HTMLElement;
  #session: Session;
  #viewport: Viewport;
  #legend = h("div", { class: "edges", "aria-hidden": "true" });
  #edges = svg("g");
  #nodes = svg("g");
  #content = svg("g", {}, this.#edges, this.#nodes);
  #boxes = new Map<number, Box>();
  #graph: ModelGraph = { nodes: [], edges: [] };
  #drawn: Trace | null = null;
  #layout: Layout | null = null;
  #edgeElements: SVGGElement[] = [];
  /** Width of the pane, and the font, of the last drawing. */
  #place = "";
  #shape = "";

  constructor(session: Session, id: string) {
    this.#session = session;
    const label = "Call graph. Arrow keys move between models, Enter selects.";
    this.#viewport = new Viewport(this.#content, label, () => this.fit());
    const { svg: picture, buttons } = this.#viewport;
    picture.prepend(svg("defs", {}, arrowMarker(`${id}-arrow`)));
    picture.style.setProperty("--arrow", `url(#${id}-arrow)`);
    picture.addEventListener("keydown", (event) => this.#key(event));
    this.element = h("div", { class: "callgraph" }, picture, this.#legend, buttons);
  }

  /** Draw the models of a trace; returns the preferred height. */
  draw(trace: Trace): number {
    const paneWidth = this.#paneWidth();
    const place = `${paneWidth} ${this.#session.colours.font}`;
    // A frame that arranges its panes draws the same trace again.
    const layout =
      this.#layout && trace === this.#drawn && place === this.#place
        ? this.#layout
        : this.#redraw(trace, paneWidth);
    this.#place = place;
    const legendHeight = this.#legend.offsetHeight;
    const wanted = Math.round(layout.height * this.#scaleFor(layout) + MARGIN + legendHeight);
    const shape = `${[...this.#boxes.keys()]} ${paneWidth} ${legendHeight}`;
    if (shape !== this.#shape) this.fit(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, wanted)));
    this.#shape = shape;
    return Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, wanted));
  }

  #redraw(trace: Trace, paneWidth: number): Layout {
    // A change of the size draws the same trace again.
    if (trace !== this.#drawn) this.#graph = modelGraph(trace);
    this.#drawn = trace;
    const width = boxWidth(this.#graph.nodes, this.#session.colours.font);
    const fit = (layout: Layout): number => this.#scaleFor(layout);
    this.#layout = chooseLayout(this.#graph, width, paneWidth, fit);
    this.#drawEdges(this.#layout, width);
    this.#drawBoxes(this.#layout, width);
    return this.#layout;
  }

  /** Emphasise a model and a path of edges, and dim the others. */
  mark({ model: selected, path, lit }: GraphMarks): void {
    const model = selected === null ? null : this.#boxOf(selected);
    const bright = (id: number): boolean => lit === null || id === OTHERS || lit.has(id);
    for (const [id, { element }] of this.#boxes) {
      element.classList.toggle("selected", id === model);
      element.setAttribute("aria-pressed", String(id === model));
      element.classList.toggle("dim", !bright(id));
    }
    this.#graph.edges.forEach(({ from, to }, k) => {
      const onPath = path
        ? path.some((step) => this.#boxOf(step.from) === from && this.#boxOf(step.to) === to)
        : from === model || to === model;
      this.#edgeElements[k].classList.toggle("path", model !== null && onPath);
      this.#edgeElements[k].classList.toggle("dim", !(bright(from) && bright(to)));
    });
  }

  /** Show the whole graph in a pane of a height. */
  fit(height = this.element.clientHeight): void {
    const width = this.#paneWidth();
    const legendHeight = this.#legend.offsetHeight;
    if (this.#layout && width > 0)
      this.#viewport.fit(this.#layout, { width, height }, legendHeight);
  }

  dispose(): void {
    this.element.remove();
  }

  /** Return the box of a model: its own, or that of all other models. */
  #boxOf(model: number): number {
    return this.#boxes.has(model) ? model : OTHERS;
  }

  #paneWidth(): number {
    return this.element.clientWidth || 800;
  }

  #scaleFor({ width, height }: Layout): number {
    return Math.min(1, (this.#paneWidth() - 32) / width, (MAX_HEIGHT - 30) / (height + 34));
  }

  #drawEdges(layout: Layout, width: number): void {
    const size = { width, height: BOX_HEIGHT };
    const { edges } = this.#graph;
    const callers = edges.map(({ from }) => ({ ...(layout.boxes.get(from) ?? ORIGIN), ...size }));
    const texts = edges.map(edgeLabel);
    const loops = edges.flatMap(({ from, to }, k) =>
      from === to && texts[k] ? [labelArea(loopLabel(callers[k]), texts[k])] : [],
    );
    const places = labelPlaces(texts, layout, size, loops);
    this.#edgeElements = edges.map((edge, k) =>
      edgeElement(edge, layout.routes[k], layout.direction, callers[k], places[k]),
    );
    this.#edges.replaceChildren(...this.#edgeElements);
    this.#legend.replaceChildren(...legend(edges));
  }

  #drawBoxes(layout: Layout, width: number): void {
    const [largest, { font }] = [largestOwn(this.#graph.nodes), this.#session.colours];
    const shown = new Set(this.#graph.nodes.map((node) => node.id));
    for (const [id, box] of this.#boxes) {
      if (shown.has(id)) continue;
      box.element.remove();
      this.#boxes.delete(id);
    }
    for (const node of this.#graph.nodes) {
      // Boxes are kept while a run grows: press and release of a click need the same element.
      const box = this.#boxes.get(node.id) ?? this.#newBox(node);
      box.name.style.setProperty("--grown", `${grownSize(node, width, font).toFixed(1)}px`);
      updateBox(box, node, layout.boxes.get(node.id) ?? ORIGIN, width, largest);
    }
    const boxes = [...this.#boxes.values()];
    if (boxes.length && !boxes.some((box) => box.element.getAttribute("tabindex") === "0")) {
      boxes[0].element.setAttribute("tabindex", "0");
    }
  }

  #newBox(node: ModelNode): Box {
    const box = newBox(node);
    const { element } = box;
    element.addEventListener("click", () => this.#select(box));
    element.addEventListener("pointermove", (event) => this.#hover(box, event));
    element.addEventListener("pointerleave", () => this.#hover(null));
    this.#boxes.set(node.id, box);
    this.#nodes.append(element);
    return box;
  }

  #select({ node, element }: Box): void {
    this.#roam(element);
    this.#session.select(this.#selectionOf(node), { reveal: true });
  }

  /** Return the selection of a box; a single call has more to show than its model. */
  #selectionOf({ id, count: calls, models }: ModelNode): Selection {
    if (models.length > 1) return { kind: "models", models };
    if (calls > 1) return { kind: "model", model: id };
    return { kind: "call", call: this.#session.trace.calls.model.indexOf(id) };
  }

  #hover(box: Box | null, event?: MouseEvent): void {
    this.#session.hover(box && { models: box.node.models });
    const { name, phases, count: calls } = box?.node ?? { name: "", phases: null, count: 0 };
    this.#session.tip(phases && { title: `${name} · ${counted(calls, "call")}`, phases }, event);
  }

  #roam(to: SVGGElement): void {
    for (const { element } of this.#boxes.values())
      element.setAttribute("tabindex", element === to ? "0" : "-1");
    to.focus();
  }

  #key(event: KeyboardEvent): void {
    const box = [...this.#boxes.values()].find(({ element }) => element === event.target);
    if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.#select(box);
    else if (event.key.startsWith("Arrow")) this.#move(box, event.key);
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
}

function arrowMarker(id: string): SVGMarkerElement {
  const size = {
    viewBox: "0 0 8 8",
    refX: 7,
    refY: 4,
    markerWidth: 7,
    markerHeight: 7,
    orient: "auto",
  };
  return svg("marker", { id, ...size }, svg("path", { d: "M0 1 L7 4 L0 7z", fill: "context-stroke" }));
}

/** Return an entry for each kind of edge in the graph. */
function legend(edges: readonly ModelEdge[]): HTMLElement[] {
  const present = new Set<string>(edges.map(kindOf));
  const kinds = ["call", "async", "stream"].filter((kind) => present.has(kind));
  const entries = kinds.map((kind) => h("span", {}, h("i", { class: kind }), kind));
  return [...entries, h("span", { class: "legend" }, phaseLegend())];
}

/** Return the layout from top to bottom, unless left to right fits clearly better. */
function chooseLayout(
  graph: ModelGraph,
  width: number,
  paneWidth: number,
  fit: (layout: Layout) => number,
): Layout {
  const size = { width, height: BOX_HEIGHT };
  const available = (paneWidth - 32) * 1.12;
  const { nodes, edges } = graph;
  const down = layered(nodes, edges, {
    ...size,
    rankGap: 46,
    siblingGap: 12,
    direction: "down",
    available,
  });
  const right = layered(nodes, edges, {
    ...size,
    rankGap: 62,
    siblingGap: hasLoops(edges) ? LOOP_ROOM + 8 : 10,
    direction: "right",
    available,
  });
  const chosen = fit(down) >= fit(right) - 0.08 ? down : right;
  return withRoom(chosen, edges, BOX_HEIGHT);
}

/** Return the distance of a box in the direction of an arrow key; 0 in any other direction. */
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
