/** The arrangement of the three panes, and the borders between them. */

import { h } from "../page/dom.ts";
import { splitter } from "./splitter.ts";
import type { Sizes } from "../session/viewstate.ts";

const [MIN_TIMELINE, MAX_TIMELINE] = [150, 300];
/** Minimum sizes of the panes when a border is dragged. */
const [MIN_SIDE, BESIDE_SIDE] = [220, 360];
const [MIN_GRAPH, BELOW_GRAPH] = [80, 120];

interface Pane {
  readonly element: HTMLElement;
}

/** Heights that the panes prefer. */
export interface Heights {
  graph: number;
  timeline: number;
  /** Minimum of the sum. */
  least: number;
}

export class Panes {
  readonly element: HTMLElement;
  #graph: Pane;
  #inspector: Pane;
  #sizes: Sizes = { graph: null, side: null };
  #dragged: () => void;

  constructor(graph: Pane, timeline: Pane, inspector: Pane, dragged: () => void) {
    this.#graph = graph;
    this.#inspector = inspector;
    this.#dragged = dragged;
    const borders = [this.#sideBorder(), this.#graphBorder()];
    const panes = [graph.element, timeline.element, inspector.element];
    this.element = h("div", { class: "panes" }, panes, borders);
  }

  /** Sizes that the user has set. */
  get sizes(): Sizes {
    return { ...this.#sizes };
  }

  set sizes({ graph, side }: Sizes) {
    this.#sizes.graph = graph;
    if (side !== null) this.#resizeSide(side);
  }

  arrange({ graph: wanted, timeline, least }: Heights): void {
    const graph = this.#sizes.graph ?? wanted;
    const below = Math.max(MIN_TIMELINE, Math.min(MAX_TIMELINE, timeline));
    this.#set("graph", graph);
    this.#set("timeline", below);
    this.#set("height", Math.max(least, graph + below));
  }

  #set(name: string, pixels: number): void {
    this.element.style.setProperty(`--${name}`, `${pixels}px`);
  }

  #sideBorder(): HTMLElement {
    return splitter({
      label: "Width of the inspector",
      axis: "x",
      behind: true,
      size: () => this.#inspector.element.offsetWidth,
      bounds: () => [MIN_SIDE, Math.max(MIN_SIDE, this.element.clientWidth - BESIDE_SIDE)],
      resize: (size) => {
        this.#resizeSide(size);
        this.#dragged();
      },
    });
  }

  #resizeSide(size: number): void {
    this.#sizes.side = size;
    this.#set("side", size);
  }

  #graphBorder(): HTMLElement {
    return splitter({
      label: "Height of the call graph",
      axis: "y",
      behind: false,
      size: () => this.#graph.element.offsetHeight,
      bounds: () => [MIN_GRAPH, Math.max(MIN_GRAPH, this.element.clientHeight - BELOW_GRAPH)],
      resize: (size) => {
        this.#sizes.graph = size;
        this.#set("graph", size);
        this.#dragged();
      },
    });
  }
}
