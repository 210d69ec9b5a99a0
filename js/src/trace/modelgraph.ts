/** The calls of a trace by model: boxes, and edges from callers to callees. Pure. */

import { noPhases, type PhaseSums } from "./phases.ts";
import type { Trace } from "./trace.ts";
import { Flag } from "./wire.ts";

/** All calls of one model. */
export interface ModelNode {
  id: number;
  name: string;
  device: string;
  kind: string;
  count: number;
  errors: number;
  /** Time not covered by child calls. */
  own: number;
  phases: PhaseSums;
  /** Start of its first call, the order of siblings. */
  first: number;
  /** The models of this box. */
  models: readonly number[];
  /** Own time in the baseline; null for a model that is new, absent without a baseline. */
  before?: number | null;
}

/** All calls from one model to another. */
export interface ModelEdge {
  from: number;
  to: number;
  count: number;
  async: number;
  streams: number;
  responses: number;
  errors: number;
  /** Start of its first call. */
  first: number;
}

export interface ModelGraph {
  nodes: ModelNode[];
  edges: ModelEdge[];
}

/** Id of the box of all models without a box of their own. */
export const OTHERS = 0xffff;

/** Maximum number of boxes without a shared one, and number of boxes beside it. */
const [MAX_BOXES, KEPT] = [60, 40];

/** Return boxes and edges; of too many models those with least own time share a box. */
export function modelGraph(trace: Trace): ModelGraph {
  const nodes = nodesOf(trace);
  const edges = edgesOf(trace);
  addFolded(trace, nodes, edges);
  return nodes.length <= MAX_BOXES ? { nodes, edges } : gather(nodes, edges);
}

function nodesOf(trace: Trace): ModelNode[] {
  const nodes: ModelNode[] = [];
  const byId: (ModelNode | undefined)[] = [];
  const { model, start_us, flags } = trace.calls;
  for (let call = 0; call < trace.n; call++) {
    const id = model[call];
    let node = byId[id];
    if (!node) nodes.push((node = byId[id] = emptyNode(trace, id, start_us[call])));
    node.count++;
    node.own += trace.own[call];
    node.first = Math.min(node.first, start_us[call]);
    if (flags[call] & Flag.ERROR) node.errors++;
    trace.addPhases(node.phases, call);
  }
  return nodes;
}

/** Add the calls that are only counted; at least one of each kind is kept. */
function addFolded({ folded }: Trace, nodes: ModelNode[], edges: ModelEdge[]): void {
  for (const [caller, model, calls, errors, us] of folded.entries) {
    const [node, from] = [model, caller].map((id) => nodes.find((each) => each.id === id));
    if (node) {
      node.count += calls;
      node.errors += errors;
      addOwn(node, us);
    }
    // Their time is not the caller's own time.
    if (from) addOwn(from, -us);
    const edge = edges.find((each) => each.from === caller && each.to === model);
    if (!edge) continue;
    edge.count += calls;
    edge.errors += errors;
  }
}

function addOwn(node: ModelNode, us: number): void {
  node.own = Math.max(0, node.own + us);
  const part = node.phases.between > 0 ? "between" : "infer";
  node.phases[part] = Math.max(0, node.phases[part] + us);
}

function emptyNode({ comparison, header, names }: Trace, id: number, first: number): ModelNode {
  const { device, kind } = header.models[id];
  const before = comparison ? comparison.ownOf(header.models[id].name) : undefined;
  const counts = { count: 0, errors: 0, own: 0, models: [id] };
  return { id, name: names[id], device, kind, ...counts, phases: noPhases(), first, before };
}

function edgesOf(trace: Trace): ModelEdge[] {
  const edges: ModelEdge[] = [];
  const byCaller: (ModelEdge | undefined)[][] = [];
  const { parent, model, responses, flags } = trace.calls;
  for (let call = 0; call < trace.n; call++) {
    if (parent[call] < 0) continue;
    const from = model[parent[call]];
    const to = model[call];
    const known = (byCaller[from] ??= []);
    let edge = known[to];
    if (!edge) edges.push((edge = known[to] = emptyEdge(from, to, trace.start(call))));
    edge.count++;
    if (flags[call] & Flag.ASYNC) edge.async++;
    if (flags[call] & Flag.ERROR) edge.errors++;
    if (!(flags[call] & Flag.DECOUPLED)) continue;
    edge.streams++;
    edge.responses += responses[call];
  }
  return edges.sort((a, b) => a.first - b.first);
}

function emptyEdge(from: number, to: number, first: number): ModelEdge {
  return { from, to, count: 0, async: 0, streams: 0, responses: 0, errors: 0, first };
}

/** Keep the largest boxes by own time, and join all others in one. */
function gather(nodes: ModelNode[], edges: ModelEdge[]): ModelGraph {
  const large = [...nodes].sort((a, b) => b.own - a.own).slice(0, KEPT);
  const ids = new Set(large.map((node) => node.id));
  const rest = nodes.filter((node) => !ids.has(node.id));
  const box: ModelNode = {
    ...rest[0],
    id: OTHERS,
    name: `+${rest.length} models`,
    device: "",
    models: rest.map((node) => node.id),
    before: undefined,
  };
  box.phases = { ...rest[0].phases };
  for (const node of rest.slice(1)) addNode(box, node);
  const merged = new Map<string, ModelEdge>();
  for (const edge of edges) {
    const from = ids.has(edge.from) ? edge.from : OTHERS;
    const to = ids.has(edge.to) ? edge.to : OTHERS;
    const key = `${from}>${to}`;
    const known = merged.get(key);
    if (known) addEdge(known, edge);
    else merged.set(key, { ...edge, from, to });
  }
  const shown = nodes.filter((node) => ids.has(node.id));
  return { nodes: [...shown, box], edges: [...merged.values()] };
}

function addNode(to: ModelNode, node: ModelNode): void {
  for (const key of ["count", "errors", "own"] as const) to[key] += node[key];
  for (const key of Object.keys(to.phases) as (keyof PhaseSums)[])
    to.phases[key] += node.phases[key];
  to.first = Math.min(to.first, node.first);
}

function addEdge(to: ModelEdge, edge: ModelEdge): void {
  for (const key of ["count", "async", "streams", "responses", "errors"] as const)
    to[key] += edge[key];
}
