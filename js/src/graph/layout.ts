/**
 * Layered layout of a call graph: ranks by longest path, siblings in order of first call unless fewer
 * edges cross otherwise, coordinates by isotonic regression. Pure.
 *
 * `along` runs from caller to callee, `across` over siblings; only the result knows x and y.
 */

import { order, renumber, type Vertex } from "./ordering.ts";
import { spread } from "./spread.ts";

export interface LayoutNode {
  id: number;
  /** Start of the first call. */
  first: number;
}

export interface LayoutEdge {
  from: number;
  to: number;
  first: number;
}

export interface LayoutOptions {
  width: number;
  height: number;
  /** Distance between ranks, for edges and their labels. */
  rankGap: number;
  siblingGap: number;
  direction: "down" | "right";
  /** A rank wider than this zig-zags over two rows; downwards only. */
  available: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Route {
  /** From the caller's border to the callee's; empty for a model that calls itself. */
  points: Point[];
  /** Closes a cycle: drawn against the direction of the others. */
  back: boolean;
}

export interface Layout {
  /** Centres of the boxes by id. */
  boxes: Map<number, Point>;
  /** One route per edge, in their order. */
  routes: Route[];
  width: number;
  height: number;
  crossings: number;
  direction: "down" | "right";
}

/** An edge between positions in the node list, pointing down even if it closes a cycle. */
interface Arc {
  upper: number;
  lower: number;
  edge: number;
  reversed: boolean;
}

const BEND_HALF = 7;
const ZIGZAG_GAP = 24;
/** Distance between an edge that closes a cycle and the edge that it closes. */
const BACK_SHIFT = 9;

export function layered(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  options: LayoutOptions,
): Layout {
  if (nodes.length === 0) {
    return {
      boxes: new Map(),
      routes: [],
      width: 0,
      height: 0,
      crossings: 0,
      direction: options.direction,
    };
  }
  const arcs = acyclic(nodes, edges);
  const ranks = longestPaths(nodes.length, arcs);
  const size = options.direction === "down" ? options.width : options.height;
  const { layers, paths } = vertices(nodes, edges, arcs, ranks, size / 2);
  const crossings = order(layers);
  const zigzag = layers.map((layer) => tooWide(layer, options));
  layers.forEach((layer, rank) => zigzag[rank] && stagger(layer, size));
  spread(layers, options.siblingGap);
  return draw(nodes, edges, arcs, layers, paths, zigzag, crossings, options);
}

/** Reverse the edges that close a cycle, found by depth-first search in order of first call. */
function acyclic(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): Arc[] {
  const position = new Map(nodes.map((node, k) => [node.id, k]));
  const arcs: Arc[] = [];
  edges.forEach(({ from, to }, edge) => {
    const [upper, lower] = [position.get(from), position.get(to)];
    if (upper === undefined || lower === undefined || upper === lower) return;
    arcs.push({ upper, lower, edge, reversed: false });
  });
  const outgoing = nodes.map((_, k) => arcs.filter((arc) => arc.upper === k));
  const incoming = nodes.map((_, k) => arcs.filter((arc) => arc.lower === k).length);
  const state = new Uint8Array(nodes.length);
  const visit = (k: number): void => {
    state[k] = 1;
    for (const arc of outgoing[k]) {
      if (state[arc.lower] === 1) arc.reversed = true;
      else if (state[arc.lower] === 0) visit(arc.lower);
    }
    state[k] = 2;
  };
  const callers = [...nodes.keys()].sort(
    (a, b) => incoming[a] - incoming[b] || nodes[a].first - nodes[b].first,
  );
  for (const k of callers) if (state[k] === 0) visit(k);
  return arcs.map((arc) => (arc.reversed ? { ...arc, upper: arc.lower, lower: arc.upper } : arc));
}

function longestPaths(count: number, arcs: readonly Arc[]): Int32Array {
  const ranks = new Int32Array(count);
  for (let moved = true; moved;) {
    moved = false;
    for (const { upper, lower } of arcs) {
      if (ranks[lower] > ranks[upper]) continue;
      ranks[lower] = ranks[upper] + 1;
      moved = true;
    }
  }
  return ranks;
}

/** Return boxes and bends by rank, and the vertices of each edge, upper end first. */
function vertices(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  arcs: readonly Arc[],
  ranks: Int32Array,
  half: number,
): { layers: Vertex[][]; paths: Map<number, Vertex[]> } {
  const layers: Vertex[][] = Array.from({ length: Math.max(0, ...ranks) + 1 }, () => []);
  const add = (node: number, rank: number, order: number): Vertex => {
    const links = { up: [], down: [], slot: 0, across: 0, row: 0 as const, tight: false };
    const vertex: Vertex = { node, rank, order, half: node < 0 ? BEND_HALF : half, ...links };
    layers[rank].push(vertex);
    return vertex;
  };
  const boxes = nodes.map((node, k) => add(k, ranks[k], node.first));
  const paths = new Map<number, Vertex[]>();
  for (const { upper, lower, edge } of arcs) {
    const path = [boxes[upper]];
    for (let rank = ranks[upper] + 1; rank < ranks[lower]; rank++)
      path.push(add(-1, rank, edges[edge].first));
    path.push(boxes[lower]);
    for (let k = 1; k < path.length; k++) {
      path[k - 1].down.push(path[k]);
      path[k].up.push(path[k - 1]);
    }
    paths.set(edge, path);
  }
  for (const layer of layers) renumber(layer.sort((a, b) => a.order - b.order));
  return { layers, paths };
}

function tooWide(layer: Vertex[], { direction, available, siblingGap }: LayoutOptions): boolean {
  const boxes = layer.filter((vertex) => vertex.node >= 0).length;
  const width = layer.reduce((sum, vertex) => sum + 2 * vertex.half + siblingGap, 0);
  return direction === "down" && boxes > 3 && width > available;
}

function stagger(layer: Vertex[], size: number): void {
  let row: 0 | 1 = 0;
  for (const vertex of layer) {
    if (vertex.node < 0) continue;
    vertex.row = row;
    vertex.half = size / 4;
    vertex.tight = true;
    row = row === 0 ? 1 : 0;
  }
}

/** Return positions of the boxes and routes of the edges. */
function draw(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  arcs: readonly Arc[],
  layers: Vertex[][],
  paths: Map<number, Vertex[]>,
  zigzag: boolean[],
  crossings: number,
  options: LayoutOptions,
): Layout {
  const down = options.direction === "down";
  const [size, depth] = down ? [options.width, options.height] : [options.height, options.width];
  const bands = bandsOf(zigzag, depth, options.rankGap);
  const all = layers.flat();
  const reach = (vertex: Vertex): number => (vertex.node < 0 ? vertex.half : size / 2);
  const low = Math.min(...all.map((vertex) => vertex.across - reach(vertex)));
  const high = Math.max(...all.map((vertex) => vertex.across + reach(vertex)));
  const point = (along: number, across: number): Point =>
    down ? { x: across - low, y: along } : { x: along, y: across - low };

  const boxes = new Map<number, Point>();
  for (const vertex of all) {
    if (vertex.node < 0) continue;
    const top = bands[vertex.rank].start + vertex.row * (depth + ZIGZAG_GAP);
    boxes.set(nodes[vertex.node].id, point(top + depth / 2, vertex.across));
  }
  const routes: Route[] = edges.map(() => ({ points: [], back: false }));
  for (const { edge, reversed } of arcs) {
    const steps = stepsOf(paths.get(edge) ?? [], bands, zigzag, depth, reversed ? BACK_SHIFT : 0);
    const points = steps.map(([along, across]) => point(along, across));
    routes[edge] = { points: reversed ? points.reverse() : points, back: reversed };
  }
  const along = bands[bands.length - 1].end;
  const across = high - low;
  const [width, height] = down ? [across, along] : [along, across];
  return { boxes, routes, width, height, crossings, direction: options.direction };
}

interface Band {
  start: number;
  end: number;
}

/** Return start and end of each rank. */
function bandsOf(zigzag: boolean[], depth: number, gap: number): Band[] {
  let start = 0;
  return zigzag.map((two) => {
    const band = { start, end: start + depth + (two ? depth + ZIGZAG_GAP : 0) };
    start = band.end + gap;
    return band;
  });
}

/** Return the bends of an edge, which is straight in a rank and curved between ranks. */
function stepsOf(
  path: Vertex[],
  bands: Band[],
  zigzag: boolean[],
  depth: number,
  shift: number,
): [along: number, across: number][] {
  const steps: [number, number][] = [];
  const [first, last] = [path[0], path[path.length - 1]];
  const top = bands[first.rank].start + first.row * (depth + ZIGZAG_GAP);
  steps.push([top + depth, first.across + shift]);
  if (zigzag[first.rank] && first.row === 0)
    steps.push([bands[first.rank].end, first.across + shift]);
  for (const bend of path.slice(1, -1)) {
    steps.push([bands[bend.rank].start, bend.across], [bands[bend.rank].end, bend.across]);
  }
  if (last.row === 1) steps.push([bands[last.rank].start, last.across + shift]);
  steps.push([bands[last.rank].start + last.row * (depth + ZIGZAG_GAP), last.across + shift]);
  return steps;
}
